/* verdict.c - opens two checkpoints and says what their difference means.
 *     cc verdict.c $(pkg-config --cflags --libs plumb) -o verdict && ./verdict a.pth b.ckpt */
#include <plumb.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct plumb_error err = {0};
    struct plumb_file *a = NULL, *b = NULL;
    struct plumb_diff *diff = NULL;
    if (argc != 3) {
        fprintf(stderr, "usage: verdict A B\n");
        return 2;
    }
    int exit_code = 2;
    if (plumb_file_open(argv[1], NULL, &a, &err) || plumb_file_open(argv[2], NULL, &b, &err) ||
        plumb_diff_new(a, b, NULL, &diff, &err)) {
        fprintf(stderr, "%s\n", err.message);
    } else {
        const enum plumb_verdict verdict = plumb_diff_verdict(diff);
        printf("%s: %s\n", plumb_verdict_name(verdict), plumb_diff_summary(diff));
        exit_code = verdict == PLUMB_DIFFERENT;
    }
    plumb_diff_free(diff);
    plumb_file_close(b);
    plumb_file_close(a);
    return exit_code;
}
