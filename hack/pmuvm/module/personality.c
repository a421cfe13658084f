// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the pretend PMUs look like: the format and events folders as the drivers
 * of Linux show them, and how attr.config selects what is counted.
 *
 * Sources: arch/x86/events/intel/uncore_snb.c, uncore_snbep.c,
 * arch/x86/events/amd/uncore.c, tools/perf/pmu-events/arch/x86.
 */
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include "fakepmu.h"

struct text {
	struct device_attribute attribute;
	const char *text;
};

static ssize_t text_show(struct device *dev, struct device_attribute *attribute, char *buf)
{
	return sysfs_emit(buf, "%s\n", container_of(attribute, struct text, attribute)->text);
}

#define TEXT(_variable, _name, _text) \
	static struct text _variable = { \
		.attribute = { .attr = { .name = _name, .mode = 0444 }, .show = text_show }, \
		.text = _text, \
	}
#define CACHE_LINES "6.103515625e-5"	/* 64 bytes, in MiB */
#define COUNT(_variable, _name, _text, _factor) \
	TEXT(_variable, _name, _text); \
	TEXT(_variable##_scale, _name ".scale", _factor); \
	TEXT(_variable##_unit, _name ".unit", "MiB")
#define A(_variable) (&_variable.attribute.attr)
#define COUNTED(_variable) A(_variable), A(_variable##_scale), A(_variable##_unit)
#define LIST(_variable, ...) \
	static const struct attribute *const _variable[] = { __VA_ARGS__, NULL }
#define ALL(_config, _quantity) { _config, _quantity, 0, 1, 1 }
#define PART(_config, _quantity, _low, _high, _parts) { _config, _quantity, _low, _high, _parts }

/* format folders */

TEXT(event, "event", "config:0-7");
TEXT(umask, "umask", "config:8-15");
TEXT(edge, "edge", "config:18");
TEXT(inv, "inv", "config:23");
TEXT(thresh, "thresh", "config:24-31");
TEXT(rdwrmask, "rdwrmask", "config:8-9");
TEXT(event_df, "event", "config:0-7,32-35,59-60");
TEXT(event_df4, "event", "config:0-7,32-37");
TEXT(umask_df4, "umask", "config:8-15,24-27");
LIST(format_intel, A(event), A(umask), A(edge), A(inv), A(thresh));
LIST(format_free, A(event), A(umask));
LIST(format_event, A(event));
LIST(format_umc, A(event), A(rdwrmask));
LIST(format_df, A(event_df), A(umask));
LIST(format_df4, A(event_df4), A(umask_df4));

/* Intel servers, programmable counters */

TEXT(clockticks, "clockticks", "event=0x00,umask=0x00");
TEXT(clockticks_spr, "clockticks", "event=0x01,umask=0x00");
COUNT(read_skx, "cas_count_read", "event=0x04,umask=0x03", CACHE_LINES);
COUNT(write_skx, "cas_count_write", "event=0x04,umask=0x0c", CACHE_LINES);
COUNT(read_icx, "cas_count_read", "event=0x04,umask=0x0f", CACHE_LINES);
COUNT(write_icx, "cas_count_write", "event=0x04,umask=0x30", CACHE_LINES);
COUNT(read_spr, "cas_count_read", "event=0x05,umask=0xcf", CACHE_LINES);
COUNT(write_spr, "cas_count_write", "event=0x05,umask=0xf0", CACHE_LINES);
COUNT(read_sch0, "cas_count_read_sch0", "event=0x05,umask=0xcf", CACHE_LINES);
COUNT(read_sch1, "cas_count_read_sch1", "event=0x06,umask=0xcf", CACHE_LINES);
COUNT(write_sch0, "cas_count_write_sch0", "event=0x05,umask=0xf0", CACHE_LINES);
COUNT(write_sch1, "cas_count_write_sch1", "event=0x06,umask=0xf0", CACHE_LINES);
LIST(events_skx, A(clockticks), COUNTED(read_skx), COUNTED(write_skx));
LIST(events_icx, A(clockticks), COUNTED(read_icx), COUNTED(write_icx));
LIST(events_spr, A(clockticks_spr), COUNTED(read_spr), COUNTED(write_spr));
LIST(events_gnr, A(clockticks_spr), COUNTED(read_sch0), COUNTED(read_sch1),
     COUNTED(write_sch0), COUNTED(write_sch1));

static const struct encoding encodings_skx[] = {
	ALL(0x0000, CLOCK), ALL(0x0304, READS), ALL(0x0c04, WRITES),
	ALL(0x00e3, MEDIA_READS), ALL(0x00e7, MEDIA_WRITES), { }
};
static const struct encoding encodings_icx[] = {
	ALL(0x0000, CLOCK), ALL(0x0f04, READS), ALL(0x3004, WRITES),
	ALL(0x00e3, MEDIA_READS), ALL(0x00e7, MEDIA_WRITES), { }
};
static const struct encoding encodings_spr[] = {
	ALL(0x0001, CLOCK), ALL(0xcf05, READS), ALL(0xf005, WRITES),
	ALL(0x00e3, MEDIA_READS), ALL(0x00e7, MEDIA_WRITES), { }
};
/* Two sub-channels that carry unequal traffic: counting one twice shows. */
static const struct encoding encodings_gnr[] = {
	ALL(0x0001, CLOCK),
	PART(0xcf05, READS, 0, 3, 4), PART(0xcf06, READS, 3, 4, 4),
	PART(0xf005, WRITES, 0, 3, 4), PART(0xf006, WRITES, 3, 4, 4), { }
};

/* Intel, free-running counters; kernels before 5.18 show a 16 times smaller scale on servers */

TEXT(dclk, "dclk", "event=0xff,umask=0x10");
COUNT(read_free, "read", "event=0xff,umask=0x20", CACHE_LINES);
COUNT(write_free, "write", "event=0xff,umask=0x21", CACHE_LINES);
COUNT(read_free_old, "read", "event=0xff,umask=0x20", "3.814697266e-6");
COUNT(write_free_old, "write", "event=0xff,umask=0x21", "3.814697266e-6");
COUNT(read_client, "data_read", "event=0xff,umask=0x20", CACHE_LINES);
COUNT(write_client, "data_write", "event=0xff,umask=0x30", CACHE_LINES);
COUNT(total_client, "data_total", "event=0xff,umask=0x10", CACHE_LINES);
COUNT(read_snb, "data_reads", "event=0x01", CACHE_LINES);
COUNT(write_snb, "data_writes", "event=0x02", CACHE_LINES);
LIST(events_free, A(dclk), COUNTED(read_free), COUNTED(write_free));
LIST(events_free_old, A(dclk), COUNTED(read_free_old), COUNTED(write_free_old));
LIST(events_client, COUNTED(read_client), COUNTED(write_client), COUNTED(total_client));
LIST(events_snb, COUNTED(read_snb), COUNTED(write_snb));

static const struct encoding encodings_free[] = {
	ALL(0x10ff, CLOCK), ALL(0x20ff, READS), ALL(0x21ff, WRITES), { }
};
static const struct encoding encodings_client[] = {
	ALL(0x20ff, READS), ALL(0x30ff, WRITES), ALL(0x10ff, TOTAL), { }
};
static const struct encoding encodings_snb[] = {
	ALL(0x01, READS), ALL(0x02, WRITES), { }
};

/* AMD; the kernel shows no events folder */

static const struct encoding encodings_umc[] = {
	ALL(0x0000, CLOCK), ALL(0x010a, READS), ALL(0x020a, WRITES), ALL(0x030a, TOTAL), { }
};
/* Zen 2 and 3: reads and writes of eight channels, which only add up */
#define CHANNEL(_config, _n) PART(_config, TOTAL, _n, (_n) + 1, 8)
static const struct encoding encodings_df[] = {
	CHANNEL(0x003807, 0), CHANNEL(0x003847, 1), CHANNEL(0x003887, 2), CHANNEL(0x0038c7, 3),
	CHANNEL(0x100003807, 4), CHANNEL(0x100003847, 5), CHANNEL(0x100003887, 6), CHANNEL(0x1000038c7, 7),
	{ }
};
/* Zen 4: umask 0x7fe reads, 0x7ff writes of processors of the same socket, 0xbfe, 0xbff of others */
#define CHANNEL4(_event, _n) \
	PART((_event) | 0x0700fe00, READS, 4 * (_n), 4 * (_n) + 3, 48), \
	PART((_event) | 0x0700ff00, WRITES, 4 * (_n), 4 * (_n) + 3, 48), \
	PART((_event) | 0x0b00fe00, READS, 4 * (_n) + 3, 4 * (_n) + 4, 48), \
	PART((_event) | 0x0b00ff00, WRITES, 4 * (_n) + 3, 4 * (_n) + 4, 48)
static const struct encoding encodings_df4[] = {
	CHANNEL4(0x1f, 0), CHANNEL4(0x5f, 1), CHANNEL4(0x9f, 2), CHANNEL4(0xdf, 3),
	CHANNEL4(0x10000001f, 4), CHANNEL4(0x10000005f, 5), CHANNEL4(0x10000009f, 6), CHANNEL4(0x1000000df, 7),
	CHANNEL4(0x20000001f, 8), CHANNEL4(0x20000005f, 9), CHANNEL4(0x20000009f, 10), CHANNEL4(0x2000000df, 11),
	{ }
};

static const struct personality personalities[] = {
	{ "skx", format_intel, events_skx, encodings_skx, 48 },
	{ "skx-bare", format_intel, NULL, encodings_skx, 48 },
	{ "icx", format_intel, events_icx, encodings_icx, 48 },
	{ "icx-bare", format_intel, NULL, encodings_icx, 48 },
	{ "spr", format_intel, events_spr, encodings_spr, 48 },
	{ "spr-bare", format_intel, NULL, encodings_spr, 48 },
	{ "gnr", format_intel, events_gnr, encodings_gnr, 48 },
	{ "gnr-old", format_intel, events_spr, encodings_gnr, 48 },
	{ "free", format_free, events_free, encodings_free, 48, true },
	{ "free-old", format_free, events_free_old, encodings_free, 48, true },
	{ "client", format_free, events_client, encodings_client, 48, true },
	{ "snb-client", format_event, events_snb, encodings_snb, 32, true },
	{ "umc", format_umc, NULL, encodings_umc, 48 },
	{ "df", format_df, NULL, encodings_df, 48 },
	{ "df4", format_df4, NULL, encodings_df4, 48 },
};

const struct personality *personality_find(const char *name, size_t length)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(personalities); i++)
		if (strlen(personalities[i].name) == length &&
		    !strncmp(personalities[i].name, name, length))
			return &personalities[i];
	return NULL;
}
