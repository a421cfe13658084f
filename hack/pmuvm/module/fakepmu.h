/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fakepmu registers pretend memory-controller PMUs with the perf subsystem.
 *
 * Words used in all its files:
 *   PMU          what /sys/bus/event_source/devices lists, for example uncore_imc_0
 *   personality  which real PMU it looks and behaves like, for example icx
 *   box          one controller: the part of a PMU that belongs to one NUMA node
 *   quantity     what a box can count, for example reads
 *   counter      one open event
 *
 * A box only changes on its own CPU with interrupts off, which is also how the
 * perf subsystem calls: there are no locks around counting.
 */
#ifndef FAKEPMU_H
#define FAKEPMU_H

#include <linux/perf_event.h>

#define FAKEPMU_PMUS 64
#define FAKEPMU_NODES 8
#define FAKEPMU_SLOTS 16
#define FAKEPMU_NAME 48

enum quantity {
	CLOCK,
	READS,
	WRITES,
	MEDIA_READS,	/* of persistent memory */
	MEDIA_WRITES,
	QUANTITIES,
	TOTAL = QUANTITIES,	/* reads + writes */
};

/*
 * encoding is one thing a personality can count: the part from low to high, in
 * parts of the whole, of a quantity. Parts that meet add up to exactly the whole.
 */
struct encoding {
	u64 config;
	enum quantity quantity;
	u32 low, high, parts;
};

struct personality {
	const char *name;
	const struct attribute *const *format;
	const struct attribute *const *events;	/* NULL: there is no events folder */
	const struct encoding *encodings;	/* ends where parts is 0 */
	unsigned int width;			/* bits of a counter */
	bool free_running;			/* every event has a counter of its own */
};

struct box {
	int node;
	int cpu;			/* the one the cpumask names, -1: none is online */
	int error;			/* what opening an event fails with, 0: it works */
	u64 rate[QUANTITIES];		/* per second */
	u64 added[QUANTITIES];		/* by the verb add, ever */
	u64 lost;			/* by the verb back, ever */
	struct perf_event *slots[FAKEPMU_SLOTS];
};

struct fakepmu {
	struct pmu pmu;
	char name[FAKEPMU_NAME];
	const struct personality *personality;
	struct box boxes[FAKEPMU_NODES];
	atomic_t events;		/* open ones; negative: being removed */
	struct attribute_group format, events_group;
	const struct attribute_group *groups[4];
};

/* main.c */
extern int fakepmu_counters;
extern ulong fakepmu_headroom;
extern struct fakepmu *fakepmus[FAKEPMU_PMUS];
extern const struct attribute_group fakepmu_cpumask;
struct fakepmu *fakepmu_of(struct pmu *pmu);
void fakepmu_drop(int index);

/* personality.c */
const struct personality *personality_find(const char *name, size_t length);

/* counter.c */
void counter_callbacks(struct pmu *pmu);
void counter_catch_up(struct box *box);

/* control.c */
extern const struct kernel_param_ops control_ops;
extern struct mutex control_lock;

#endif
