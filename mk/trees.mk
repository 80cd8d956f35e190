# Object trees under build/: the same sources compiled in different ways by one set of rules.
#
#   obj     what is shipped
#   san     AddressSanitizer and UndefinedBehaviorSanitizer, for tests
#   tsan    ThreadSanitizer
#   double  the lab's networks in double precision, for the gradient check
#   fuzz    clang with libFuzzer
#   clang   only to see that the second compiler is content as well

# compile_into TREE COMPILER FLAGS: how a source becomes an object of that tree.
define compile_into
$(B)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$($(2)) $$($(3)) -MMD -MP -c -o $$@ $$<
endef

# library_of TREE ARCHIVE: the library's objects of that tree in one archive.
define library_of
$(2): $(LIB_SRC:%.c=$(B)/$(1)/%.o)
	@rm -f $$@
	$$(AR) rcs $$@ $$^
endef

$(eval $(call compile_into,obj,CC,RELEASE_FLAGS))
$(eval $(call compile_into,san,CC,SAN_FLAGS))
$(eval $(call compile_into,tsan,CC,TSAN_FLAGS))
$(eval $(call compile_into,double,CC,DOUBLE_FLAGS))
$(eval $(call compile_into,fuzz,CLANG,FUZZ_FLAGS))
$(eval $(call compile_into,clang,CLANG,CLANG_FLAGS))

$(eval $(call library_of,obj,$(B)/libplumb.a))
$(eval $(call library_of,san,$(B)/san/libplumb.a))
$(eval $(call library_of,tsan,$(B)/tsan/libplumb.a))
$(eval $(call library_of,fuzz,$(B)/fuzz/libplumb.a))

# every_tree SOURCES: their objects, wherever they are compiled, for flags of their own.
every_tree = $(foreach tree,obj san tsan clang,$(patsubst %.c,$(B)/$(tree)/%.o,$(1)))

# The lab and the Python extension see plumb.h only. The lab's loops are worth the compiler's trouble.
LAB_ANY := $(call every_tree,$(LAB_SRC) $(LAB_MPI_ONLY))
$(LAB_ANY): LANGUAGE := $(filter-out -Isrc,$(LANGUAGE)) -Ilab
$(patsubst %.c,$(B)/obj/%.o,$(LAB_SRC) $(LAB_MPI_ONLY)): CFLAGS += -O3
$(call every_tree,$(LAB_MPI_ONLY)): LANGUAGE += $(MPI_CFLAGS)

PYTHON_ANY := $(call every_tree,$(PYTHON_SRC))
$(PYTHON_ANY): LANGUAGE := $(filter-out -Isrc,$(LANGUAGE)) -Ipython/src -isystem $(PYTHON_INCLUDE)
# CPython hands functions around as object pointers, which ISO C does not know.
$(PYTHON_ANY): WARNINGS := $(filter-out -Wpedantic,$(WARNINGS))

# Tests of the lab: the gradient check is linked with the model in double, the others run build/lab.
$(call every_tree,$(LAB_TEST_SRC)): LANGUAGE += -Ilab -DLAB_REAL_IS_DOUBLE

# clang's NAN and INFINITY are floats, which makes every table of doubles in a test a promotion.
$(B)/clang/tests/%.o: CLANG_FLAGS += -Wno-double-promotion

.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
