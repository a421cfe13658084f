// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/module/fakepmu/parameters/control takes one command per write. PMU is a
 * name or *, NODE a number or *:
 *
 *   rate PMU NODE READS WRITES [MEDIA_READS MEDIA_WRITES]   counts per second from now on
 *   add PMU NODE READS WRITES [MEDIA_READS MEDIA_WRITES]    counts at once
 *   back PMU NODE COUNTS          open events go back by so many counts
 *   errno PMU NODE ERRNO          opening an event fails; 0: works again
 *   remove PMU                    the PMU disappears; EBUSY while events are open
 *
 * ENOENT means that no box matched.
 */
#include <linux/cpu.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "fakepmu.h"

DEFINE_MUTEX(control_lock);	/* the list of PMUs and their boxes' CPUs */

struct command {
	char verb[8];
	char pmu[FAKEPMU_NAME];
	char node[8];
	u64 values[4];
	struct box *box;
};

static void apply(void *data)
{
	struct command *command = data;
	struct box *box = command->box;
	const u64 *values = command->values;
	int i;

	counter_catch_up(box);
	for (i = 0; i < ARRAY_SIZE(command->values); i++) {
		if (!strcmp(command->verb, "rate"))
			box->rate[READS + i] = values[i];
		else if (!strcmp(command->verb, "add"))
			box->added[READS + i] += values[i];
	}
	if (!strcmp(command->verb, "back"))
		box->lost += values[0];
	else if (!strcmp(command->verb, "errno"))
		box->error = -(int)values[0];
}

static bool matches(const struct command *command, const struct fakepmu *f)
{
	return !strcmp(command->pmu, "*") || !strcmp(command->pmu, f->name);
}

/* Applies a command where nothing else touches the box: on its CPU. */
static int apply_to_boxes(struct command *command)
{
	int i, node, wanted = -1, matched = 0;

	if (strcmp(command->node, "*") && kstrtoint(command->node, 10, &wanted))
		return -EINVAL;
	for (i = 0; i < FAKEPMU_PMUS; i++) {
		if (!fakepmus[i] || !matches(command, fakepmus[i]))
			continue;
		for (node = 0; node < FAKEPMU_NODES; node++) {
			command->box = &fakepmus[i]->boxes[node];
			if (command->box->cpu < 0 || (wanted >= 0 && wanted != node))
				continue;
			if (smp_call_function_single(command->box->cpu, apply, command, true))
				return -EIO;
			matched++;
		}
	}
	return matched ? 0 : -ENOENT;
}

static int remove(const struct command *command)
{
	int i, matched = 0;

	for (i = 0; i < FAKEPMU_PMUS; i++) {
		if (!fakepmus[i] || !matches(command, fakepmus[i]))
			continue;
		if (atomic_cmpxchg(&fakepmus[i]->events, 0, INT_MIN) != 0)
			return -EBUSY;
		fakepmu_drop(i);
		matched++;
	}
	return matched ? 0 : -ENOENT;
}

static int control_set(const char *text, const struct kernel_param *kp)
{
	struct command command = { };
	u64 *v = command.values;
	int ret, fields;

	fields = sscanf(text, "%7s %47s %7s %llu %llu %llu %llu",
			command.verb, command.pmu, command.node, &v[0], &v[1], &v[2], &v[3]);
	if (!strcmp(command.verb, "rate") || !strcmp(command.verb, "add"))
		ret = fields == 5 || fields == 7 ? 0 : -EINVAL;
	else if (!strcmp(command.verb, "back") || !strcmp(command.verb, "errno"))
		ret = fields == 4 ? 0 : -EINVAL;
	else
		ret = fields == 2 && !strcmp(command.verb, "remove") ? 0 : -EINVAL;
	if (ret)
		return ret;
	cpus_read_lock();
	mutex_lock(&control_lock);
	ret = fields == 2 ? remove(&command) : apply_to_boxes(&command);
	mutex_unlock(&control_lock);
	cpus_read_unlock();
	return ret;
}

const struct kernel_param_ops control_ops = { .set = control_set };
