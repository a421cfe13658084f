// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting: the callbacks of the perf subsystem.
 *
 * A counter's clock is the time its event has been running, as perf reports it:
 * count / time_running is the programmed rate, exactly, however slowly the
 * guest runs. The hardware register behind it is narrow and starts just before
 * it wraps, and as in a real driver only differences of it reach the event.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include "fakepmu.h"

struct counter {
	struct box *box;
	const struct encoding *encoding;
	unsigned int width;
	bool free_running;
	int slot;
	u64 running;	/* ns of time_running counted so far */
	u64 remainder;	/* of counts, in 1e-9 */
	u64 counted;	/* of the whole quantity */
	u64 added, lost;	/* of the box's, counted so far */
};

static u64 of_quantity(const u64 *values, enum quantity quantity)
{
	return quantity == TOTAL ? values[READS] + values[WRITES] : values[quantity];
}

static u64 share(u64 whole, const struct encoding *e)
{
	return div_u64(whole * e->high, e->parts) - div_u64(whole * e->low, e->parts);
}

static u64 hardware_register(const struct counter *c)
{
	u64 start = (1ULL << c->width) - fakepmu_headroom;

	return (start + share(c->counted, c->encoding)) & GENMASK_ULL(c->width - 1, 0);
}

/* time_running of an event, up to now where the event is on the box. */
static u64 time_running(const struct perf_event *event, bool now)
{
	const struct perf_event_context *ctx = event->ctx;
	u64 running = event->total_time_running;
	u64 time;

	if (event->state != PERF_EVENT_STATE_ACTIVE || !ctx)
		return running;
	time = ctx->time;
	if (now)
		time += local_clock() - ctx->timestamp;
	if (time > event->tstamp)
		running += time - event->tstamp;
	return running;
}

static void count(struct perf_event *event, bool now)
{
	struct counter *c = event->pmu_private;
	u64 rate = of_quantity(c->box->rate, c->encoding->quantity);
	u64 added = of_quantity(c->box->added, c->encoding->quantity);
	u64 running = time_running(event, now);

	while (c->running < running) {
		u64 step = min_t(u64, running - c->running, NSEC_PER_SEC);

		c->counted += div64_u64_rem(rate * step + c->remainder, NSEC_PER_SEC, &c->remainder);
		c->running += step;
	}
	c->counted += added - c->added;
	c->added = added;
}

static void update(struct perf_event *event, bool now)
{
	struct counter *c = event->pmu_private;
	int shift = 64 - c->width;
	u64 before, after;

	count(event, now);
	before = local64_read(&event->hw.prev_count);
	after = hardware_register(c);
	local64_set(&event->hw.prev_count, after);
	local64_add(((after << shift) - (before << shift)) >> shift, &event->count);
	local64_sub(c->box->lost - c->lost, &event->count);
	c->lost = c->box->lost;
}

/* Counts what a box's rates have caused so far. Runs on the CPU of the box. */
void counter_catch_up(struct box *box)
{
	int i;

	for (i = 0; i < FAKEPMU_SLOTS; i++)
		if (box->slots[i])
			update(box->slots[i], true);
}

static void counter_read(struct perf_event *event)
{
	update(event, false);
}

static void counter_start(struct perf_event *event, int flags)
{
	struct counter *c = event->pmu_private;

	c->running = time_running(event, false);
	c->added = of_quantity(c->box->added, c->encoding->quantity);
	c->lost = c->box->lost;
	local64_set(&event->hw.prev_count, hardware_register(c));
	event->hw.state = 0;
}

static void counter_stop(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	update(event, false);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int counter_add(struct perf_event *event, int flags)
{
	struct counter *c = event->pmu_private;
	int i, limit = c->free_running ? FAKEPMU_SLOTS : fakepmu_counters;

	for (i = 0; i < limit && c->box->slots[i]; i++)
		;
	if (i == limit)
		return -EAGAIN;	/* perf takes turns */
	c->box->slots[i] = event;
	c->slot = i;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		counter_start(event, flags);
	return 0;
}

static void counter_del(struct perf_event *event, int flags)
{
	struct counter *c = event->pmu_private;

	counter_stop(event, PERF_EF_UPDATE);
	c->box->slots[c->slot] = NULL;
}

static void counter_destroy(struct perf_event *event)
{
	atomic_dec(&fakepmu_of(event->pmu)->events);
	kfree(event->pmu_private);
}

static struct box *box_of(struct fakepmu *f, int cpu)
{
	int node = cpu_to_node(cpu);

	if (node < 0 || node >= FAKEPMU_NODES || f->boxes[node].cpu < 0)
		return NULL;
	return &f->boxes[node];
}

static int counter_init(struct perf_event *event)
{
	const struct encoding *encoding;
	struct counter *c;
	struct fakepmu *f;
	struct box *box;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	/* The counters belong to a whole controller: no sampling, no tasks. */
	if (event->attr.sample_period || event->attach_state & PERF_ATTACH_TASK || event->cpu < 0)
		return -EINVAL;
	f = fakepmu_of(event->pmu);
	for (encoding = f->personality->encodings; encoding->parts; encoding++)
		if (encoding->config == event->attr.config)
			break;
	box = box_of(f, event->cpu);
	if (!encoding->parts || !box)
		return -EINVAL;
	if (box->error)
		return box->error;
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	if (!atomic_inc_unless_negative(&f->events)) {
		kfree(c);
		return -ENODEV;
	}
	c->box = box;
	c->encoding = encoding;
	c->width = f->personality->width;
	c->free_running = f->personality->free_running;
	event->pmu_private = c;
	event->destroy = counter_destroy;
	/* As in the real drivers: any CPU of the node stands for the box's CPU. */
	event->cpu = box->cpu;
	return 0;
}

void counter_callbacks(struct pmu *pmu)
{
	pmu->event_init = counter_init;
	pmu->add = counter_add;
	pmu->del = counter_del;
	pmu->start = counter_start;
	pmu->stop = counter_stop;
	pmu->read = counter_read;
}
