/* Every known frame (fuzz/seeds/frame: from the kernel, scapy and the standards), cut at every length and with every byte changed, through
 * the parsers of the data path in buffers of exactly that length. With AddressSanitizer not one byte behind them is touched. */
#include <dirent.h>
#include <string.h>

#include "check.h"
#include "parsers.h"

/* The headers: each of their bytes takes every value. */
#define HEADER_BYTES 82

static uint8_t frame[PARSERS_BYTES_MOST];

static size_t read_frame(const char *folder, const char *name)
{
	char path[4096];
	size_t length;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "rb");

	CHECK(file);
	length = fread(frame, 1, sizeof(frame), file);
	fclose(file);
	return length;
}

static void cut_short(size_t length)
{
	for (size_t cut = 0; cut <= length; cut++) {
		parsers_try(frame, cut);
		parsers_try_segments(frame, length, cut);
		parsers_switch(frame, cut, (unsigned)cut);
	}
}

static void changed(size_t length)
{
	for (size_t at = 0; at < length; at++) {
		uint8_t kept = frame[at];

		for (unsigned change = 1; change < (at < HEADER_BYTES ? 256 : 2); change++) {
			frame[at] = (uint8_t)(kept ^ change);
			parsers_try(frame, length);
			/* One bit at a time through the switch as well: the clock ticks there. */
			if (at < HEADER_BYTES && !(change & (change - 1)))
				parsers_switch(frame, length, change);
		}
		frame[at] = kept;
	}
}

int main(int count, char **words)
{
	struct dirent **entries;
	int found = 0, names;

	CHECK_EQ(count, 2);
	parsers_open();
	names = scandir(words[1], &entries, NULL, alphasort);
	CHECK(names > 0);
	for (int i = 0; i < names; i++) {
		if (entries[i]->d_name[0] != '.') {
			size_t length = read_frame(words[1], entries[i]->d_name);

			cut_short(length);
			changed(length);
			printf("ok %s\n", entries[i]->d_name);
			found++;
		}
		free(entries[i]);
	}
	free(entries);
	CHECK(found > 10);
	parsers_close();
	return 0;
}
