// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parameters, registration, and following CPUs that come and go.
 *
 *   insmod fakepmu.ko pmus=uncore_imc_0:icx,amd_umc_1:umc@1
 *
 * @NODE leaves a PMU only the box of that node.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/topology.h>
#include "fakepmu.h"

static char *pmus[FAKEPMU_PMUS];
static int pmus_given;
module_param_array(pmus, charp, &pmus_given, 0444);
MODULE_PARM_DESC(pmus, "NAME:PERSONALITY[@NODE],...");

int fakepmu_counters = 4;
module_param_named(counters, fakepmu_counters, int, 0444);
MODULE_PARM_DESC(counters, "programmable counters of a box (default 4)");

ulong fakepmu_headroom = 1000000;
module_param_named(headroom, fakepmu_headroom, ulong, 0444);
MODULE_PARM_DESC(headroom, "counts after which a register wraps first (default 1000000)");

static ulong clock = 1200000000;
module_param(clock, ulong, 0444);
MODULE_PARM_DESC(clock, "cycles per second of a box (default 1.2e9)");

module_param_cb(control, &control_ops, NULL, 0200);
MODULE_PARM_DESC(control, "commands, see control.c");

struct fakepmu *fakepmus[FAKEPMU_PMUS];
static enum cpuhp_state hotplug;

struct fakepmu *fakepmu_of(struct pmu *pmu)
{
	return container_of(pmu, struct fakepmu, pmu);
}

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attribute, char *buf)
{
	struct fakepmu *f = fakepmu_of(dev_get_drvdata(dev));
	cpumask_var_t mask;
	ssize_t ret;
	int node;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	for (node = 0; node < FAKEPMU_NODES; node++)
		if (f->boxes[node].cpu >= 0)
			cpumask_set_cpu(f->boxes[node].cpu, mask);
	ret = cpumap_print_to_pagebuf(true, buf, mask);
	free_cpumask_var(mask);
	return ret;
}

static DEVICE_ATTR_RO(cpumask);
static struct attribute *cpumask_attributes[] = { &dev_attr_cpumask.attr, NULL };
const struct attribute_group fakepmu_cpumask = { .attrs = cpumask_attributes };

/* A CPU went away: another one of its node takes over its boxes and events. */
static int cpu_offline(unsigned int cpu)
{
	int i, target, node = cpu_to_node(cpu);

	if (node < 0 || node >= FAKEPMU_NODES)
		return 0;
	target = cpumask_any_but(cpumask_of_node(node), cpu);
	for (i = 0; i < FAKEPMU_PMUS; i++) {
		struct box *box;

		if (!fakepmus[i])
			continue;
		box = &fakepmus[i]->boxes[node];
		if (box->cpu != cpu)
			continue;
		box->cpu = target < nr_cpu_ids ? target : -1;
		if (box->cpu >= 0)
			perf_pmu_migrate_context(&fakepmus[i]->pmu, cpu, box->cpu);
	}
	return 0;
}

static int cpu_online_again(unsigned int cpu)
{
	int i, node = cpu_to_node(cpu);

	if (node < 0 || node >= FAKEPMU_NODES)
		return 0;
	for (i = 0; i < FAKEPMU_PMUS; i++) {
		struct box *box;

		if (!fakepmus[i])
			continue;
		box = &fakepmus[i]->boxes[node];
		if (box->node == node && box->cpu < 0)
			box->cpu = cpu;
	}
	return 0;
}

void fakepmu_drop(int index)
{
	perf_pmu_unregister(&fakepmus[index]->pmu);
	kfree(fakepmus[index]);
	fakepmus[index] = NULL;
}

static void place_boxes(struct fakepmu *f, int only)
{
	int node;

	for (node = 0; node < FAKEPMU_NODES; node++) {
		struct box *box = &f->boxes[node];
		unsigned int cpu = nr_cpu_ids;

		if (node < MAX_NUMNODES && node_online(node) && (only < 0 || only == node))
			cpu = cpumask_first(cpumask_of_node(node));
		box->node = cpu < nr_cpu_ids ? node : NUMA_NO_NODE;
		box->cpu = cpu < nr_cpu_ids ? cpu : -1;
		box->rate[CLOCK] = clock;
	}
}

/* NAME:PERSONALITY[@NODE] */
static int parse(struct fakepmu *f, const char *text)
{
	const char *colon = strchr(text, ':'), *at;
	int only = -1;

	if (!colon || colon == text || colon - text >= sizeof(f->name))
		return -EINVAL;
	memcpy(f->name, text, colon - text);
	at = strchrnul(colon, '@');
	if (*at && kstrtoint(at + 1, 10, &only))
		return -EINVAL;
	f->personality = personality_find(colon + 1, at - colon - 1);
	if (!f->personality)
		return -EINVAL;
	place_boxes(f, only);
	return 0;
}

static int create(int index)
{
	struct fakepmu *f = kzalloc(sizeof(*f), GFP_KERNEL);
	int ret, groups = 0;

	if (!f)
		return -ENOMEM;
	ret = parse(f, pmus[index]);
	if (ret) {
		pr_err("fakepmu: %s: want NAME:PERSONALITY[@NODE]\n", pmus[index]);
		goto failed;
	}
	f->groups[groups++] = &fakepmu_cpumask;
	f->format = (struct attribute_group) {
		.name = "format", .attrs = (struct attribute **)f->personality->format,
	};
	f->groups[groups++] = &f->format;
	f->events_group = (struct attribute_group) {
		.name = "events", .attrs = (struct attribute **)f->personality->events,
	};
	if (f->personality->events)
		f->groups[groups++] = &f->events_group;
	f->pmu = (struct pmu) {
		.module = THIS_MODULE,
		.task_ctx_nr = perf_invalid_context,
		.capabilities = PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,
		.attr_groups = f->groups,
	};
	counter_callbacks(&f->pmu);
	ret = perf_pmu_register(&f->pmu, f->name, -1);
	if (ret)
		goto failed;
	fakepmus[index] = f;
	return 0;
failed:
	kfree(f);
	return ret;
}

static void drop_all(void)
{
	int i;

	for (i = 0; i < FAKEPMU_PMUS; i++)
		if (fakepmus[i])
			fakepmu_drop(i);
}

static int __init fakepmu_init(void)
{
	int i, ret;

	if (fakepmu_counters < 1 || fakepmu_counters > FAKEPMU_SLOTS || fakepmu_headroom >= 1UL << 32)
		return -EINVAL;
	for (i = 0; i < pmus_given; i++) {
		ret = create(i);
		if (ret) {
			drop_all();
			return ret;
		}
	}
	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "perf/fakepmu:online", cpu_online_again, cpu_offline);
	if (ret < 0) {
		drop_all();
		return ret;
	}
	hotplug = ret;
	return 0;
}

static void __exit fakepmu_exit(void)
{
	cpuhp_remove_state_nocalls(hotplug);
	drop_all();
}

module_init(fakepmu_init);
module_exit(fakepmu_exit);
MODULE_DESCRIPTION("Pretend memory-controller PMUs");
MODULE_LICENSE("GPL");
