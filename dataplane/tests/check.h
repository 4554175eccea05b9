/* A test is a function; it ends at the first thing that is not as expected, and says what. */
#ifndef BACKWATER_CHECK_H
#define BACKWATER_CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__, __LINE__, __func__, #what); \
			exit(1); \
		} \
	} while (0)

#define CHECK_EQ(got, wanted) \
	do { \
		int64_t got_ = (int64_t)(got), wanted_ = (int64_t)(wanted); \
		if (got_ != wanted_) { \
			fprintf(stderr, "%s:%d: %s: %s is %" PRId64 ", not %" PRId64 "\n", __FILE__, __LINE__, __func__, #got, got_, wanted_); \
			exit(1); \
		} \
	} while (0)

#define RUN(test) \
	do { \
		test(); \
		printf("ok %s\n", #test); \
	} while (0)

#endif
