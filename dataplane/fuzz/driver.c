/* A fuzzer for compilers that bring none: mutates what it knows, keeps what reaches new code. The same seed tries the same inputs in the same
 * order. Takes libFuzzer's options: [-seed=N] [-max_total_time=SECONDS] [-artifact_prefix=PATH] FILE-OR-FOLDER... */
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "parsers.h"

#define KNOWN_MOST 4096
#define TIMEOUT_S 20

int LLVMFuzzerInitialize(int *count, char ***words);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
void __sanitizer_cov_trace_pc(void);
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

struct input {
	uint8_t *bytes;
	size_t length;
};

static struct input known[KNOWN_MOST];
static size_t known_count;
/* Which ways from branch to branch were taken. */
static uint8_t taken[1 << 16];
static uintptr_t last_place;
static unsigned fresh;
static uint64_t state = 1;
static const char *artifact = "";
static uint8_t trial[PARSERS_BYTES_MOST];
static size_t trial_bytes;
static bool trying;

/* Called by what gcc or clang put at every branch (-fsanitize-coverage=trace-pc). */
void __sanitizer_cov_trace_pc(void)
{
	uintptr_t place = (uintptr_t)__builtin_return_address(0);
	uint8_t *way = &taken[(place ^ last_place << 1) & 0xFFFF];

	last_place = place;
	fresh += !*way;
	*way = 1;
}

static uint64_t draw(uint64_t below)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state % below;
}

/* Whatever ends the program while an input is tried leaves that input behind. */
static void keep_trial(void)
{
	char path[4096];
	FILE *file;

	if (!trying)
		return;
	trying = false;
	snprintf(path, sizeof(path), "%scrash", artifact);
	file = fopen(path, "wb");
	if (file) {
		fwrite(trial, 1, trial_bytes, file);
		fclose(file);
	}
	fprintf(stderr, "the input of %zu B is in %s\n", trial_bytes, path);
}

static void on_signal(int number)
{
	keep_trial();
	signal(number, SIG_DFL);
	raise(number);
}

static void remember(const uint8_t *bytes, size_t length)
{
	struct input *input = &known[known_count < KNOWN_MOST ? known_count++ : draw(KNOWN_MOST)];

	free(input->bytes);
	input->bytes = malloc(length + 1);
	if (!input->bytes)
		exit(1);
	memcpy(input->bytes, bytes, length);
	input->length = length;
}

static void read_file(const char *path)
{
	FILE *file = fopen(path, "rb");

	if (!file) {
		fprintf(stderr, "%s cannot be read\n", path);
		exit(1);
	}
	remember(trial, fread(trial, 1, sizeof(trial), file));
	fclose(file);
}

/* In the order of their names: the same on every machine. */
static void read_folder(const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort);
	char path[4096];

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			read_file(path);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

static void mutate_once(void)
{
	/* What the parsers compare with. */
	static const uint16_t WORDS[] = { 0x8100, 0x88A8, 0x8808, 0x88B5, 0x0800, 0x86DD, 0x0101, 0x0001, 0x4500, 0x4600, 0x12B7, 0x0108, 0xFFFF };
	size_t at = trial_bytes ? draw(trial_bytes) : 0;

	switch (draw(7)) {
	case 0: if (trial_bytes) trial[at] ^= (uint8_t)(1 << draw(8)); break;
	case 1: if (trial_bytes) trial[at] = (uint8_t)draw(256); break;
	case 2: trial_bytes = draw(trial_bytes + 1); break;
	case 3:
		for (size_t more = draw(24); more && trial_bytes < sizeof(trial); more--)
			trial[trial_bytes++] = (uint8_t)draw(256);
		break;
	case 4:
	case 5:
		/* Most words stand at even places near the front. */
		at = 2 * draw(32);
		if (at + 2 <= trial_bytes) {
			uint16_t word = WORDS[draw(sizeof(WORDS) / sizeof(WORDS[0]))];

			trial[at] = (uint8_t)(word >> 8);
			trial[at + 1] = (uint8_t)word;
		}
		break;
	case 6:
		/* A tag, or four other bytes, pushed in behind the addresses. */
		if (trial_bytes >= 14 && trial_bytes + 4 <= sizeof(trial)) {
			memmove(trial + 16, trial + 12, trial_bytes - 12);
			memcpy(trial + 12, (uint8_t[]){ 0x81, 0, (uint8_t)draw(256), 1 }, 4);
			trial_bytes += 4;
		}
		break;
	}
}

static void try_one(void)
{
	fresh = 0;
	last_place = 0;
	trying = true;
	alarm(TIMEOUT_S);
	LLVMFuzzerTestOneInput(trial, trial_bytes);
	trying = false;
}

static void read_options(int count, char **words, long *seconds)
{
	for (int i = 1; i < count; i++) {
		struct stat is;

		if (sscanf(words[i], "-max_total_time=%ld", seconds) == 1)
			continue;
		if (sscanf(words[i], "-seed=%" SCNu64, &state) == 1)
			state = (state + 1) * UINT64_C(0x9E3779B97F4A7C15) | 1;
		else if (strncmp(words[i], "-artifact_prefix=", 17) == 0)
			artifact = words[i] + 17;
		else if (stat(words[i], &is) == 0 && S_ISDIR(is.st_mode))
			read_folder(words[i]);
		else if (words[i][0] != '-')
			read_file(words[i]);
	}
	if (!known_count)
		remember(trial, 0);
}

int main(int count, char **words)
{
	long seconds = 20;
	time_t end;
	uint64_t runs = 0;

	read_options(count, words, &seconds);
	LLVMFuzzerInitialize(&count, &words);
	atexit(keep_trial);
	for (int i = 0; i < 2; i++)
		signal((int[]){ SIGALRM, SIGABRT }[i], on_signal);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(keep_trial);
	for (size_t i = 0, given = known_count; i < given; i++, runs++) {
		memcpy(trial, known[i].bytes, trial_bytes = known[i].length);
		try_one();
	}
	for (end = time(NULL) + seconds; time(NULL) < end; runs++) {
		const struct input *from = &known[draw(known_count)];

		memcpy(trial, from->bytes, trial_bytes = from->length);
		for (uint64_t n = 1 + draw(4); n; n--)
			mutate_once();
		try_one();
		if (fresh)
			remember(trial, trial_bytes);
	}
	alarm(0);
	parsers_close();
	for (size_t i = 0; i < known_count; i++)
		free(known[i].bytes);
	printf("Done %" PRIu64 " runs in %ld second(s), %zu inputs known\n", runs, seconds, known_count);
	return 0;
}
