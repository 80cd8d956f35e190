/*
 * record_fork.c - a child of fork() has copies of the recorders but not their threads, and shares
 * their files. It must record nothing and harm nothing.
 *
 * All locks are held while the process forks, so that the child's copies are in order and it may
 * free them; it never takes those locks again.
 */
#include "record/recorder_state.h"

#include <unistd.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct plumb_recorder *list;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    (void)pthread_mutex_lock(&list_lock);
    for (struct plumb_recorder *recorder = list; recorder; recorder = recorder->next)
        (void)pthread_mutex_lock(&recorder->lock);
}

static void unlock_all(void)
{
    for (struct plumb_recorder *recorder = list; recorder; recorder = recorder->next)
        (void)pthread_mutex_unlock(&recorder->lock);
    (void)pthread_mutex_unlock(&list_lock);
}

/* The descriptor goes, because it would keep the file locked after the parent's death. */
static void in_child(void)
{
    for (struct plumb_recorder *recorder = list; recorder; recorder = recorder->next) {
        recorder->forked = true;
        recorder->has_thread = false;
        plumb_recorder_set_wants(recorder);
        if (recorder->file.fd >= 0)
            (void)close(recorder->file.fd);
        recorder->file.fd = -1;
    }
    unlock_all();
}

static void install(void)
{
    (void)pthread_atfork(before_fork, unlock_all, in_child);
}

void plumb_recorder_register(struct plumb_recorder *recorder)
{
    (void)pthread_once(&once, install);
    (void)pthread_mutex_lock(&list_lock);
    recorder->next = list;
    list = recorder;
    (void)pthread_mutex_unlock(&list_lock);
}

void plumb_recorder_unregister(struct plumb_recorder *recorder)
{
    (void)pthread_mutex_lock(&list_lock);
    struct plumb_recorder **link = &list;
    while (*link && *link != recorder)
        link = &(*link)->next;
    if (*link)
        *link = recorder->next;
    (void)pthread_mutex_unlock(&list_lock);
}
