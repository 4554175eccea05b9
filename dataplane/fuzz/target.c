/* What libFuzzer calls, and driver.c, which stands in for it. */
#include "parsers.h"

int LLVMFuzzerInitialize(int *count, char ***words);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerInitialize(int *count, char ***words)
{
	(void)count;
	(void)words;
	parsers_open();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	if (length > PARSERS_BYTES_MOST)
		return -1;
	parsers_try(bytes, length);
	if (length)
		parsers_try_segments(bytes, length, bytes[length - 1] % (length + 1));
	parsers_switch(bytes, length, (unsigned)length);
	return 0;
}
