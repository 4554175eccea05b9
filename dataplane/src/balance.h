/* Adds the counters up: every frame is somewhere (see counters.h). */
#ifndef BACKWATER_BALANCE_H
#define BACKWATER_BALANCE_H

#include "bed.h"

/* Frames that came in or were made less those that went out, ended, were dropped, or still wait: 0, or some were lost without a reason. */
int64_t node_balance(const struct node *node);

/* Writes down the balance of every node and of all together. `at_end`: all is drained, so that links inside the process are balanced, too. */
void bed_balance(struct bed *bed, bool at_end);

#endif
