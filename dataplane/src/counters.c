/* See counters.h. */
#include "counters.h"

const char *drop_reason_name(enum drop_reason reason)
{
	static const char *const NAMES[] = {
#define X(symbol, name, sentence) name,
		DROP_REASONS(X)
#undef X
	};

	return reason < DROP_REASON_COUNT ? NAMES[reason] : "unknown";
}

const char *drop_reason_sentence(enum drop_reason reason)
{
	static const char *const SENTENCES[] = {
#define X(symbol, name, sentence) sentence,
		DROP_REASONS(X)
#undef X
	};

	return reason < DROP_REASON_COUNT ? SENTENCES[reason] : "unknown";
}
