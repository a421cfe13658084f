// Package evaluation predicts every row of a measured data set and tabulates
// the errors per method, as the paper's Tables 1 to 3 do.
//
// A data set is a folder of CSV files whose columns are found by name, and of what the
// topology of the machine says:
//
//	apps.csv    app, [local_runtime_s, local_read_Bps, local_write_Bps,]
//	            remote_runtime_s, remote_read_Bps, remote_write_Bps,
//	            [relative_uncertainty]
//	curves.csv  app, read_pct, level, interferer_solo_read_Bps,
//	            interferer_solo_write_Bps, norm_perf,
//	            [interferer_corun_read_Bps, interferer_corun_write_Bps]
//	            [app_read_Bps, app_write_Bps]
//	            [repeats, repeat_sd or readings, standard_error]
//	curves_random.csv (optional)  app, read_pct, level, footprint_bytes, norm_perf,
//	            interferer_solo_llc_Bps, interferer_corun_llc_Bps,
//	            interferer_corun_read_Bps, interferer_corun_write_Bps,
//	            [app_read_Bps, app_write_Bps]
//	pairs.csv   app, corunner, norm_perf
//	groups.csv (optional)      app, corunners (joined by "+"), norm_perf
//	interferer.csv (optional)  read_pct, level, solo_read_Bps, solo_write_Bps
//	timeseries.csv (optional)  app, where, t_end_s, read_Bps, write_Bps
//	platform.json (optional)   {"link": "none", "own" or "shared",
//	                            "sharedCache": {"bytes": 1048576, "ways": 16}}
//
// Bandwidths are bytes per second at the memory controller, read_pct percent,
// norm_perf solo time ÷ co-run time. The local_ columns are a run alone as a
// target, where the curves were measured, the remote_ columns one as a
// co-runner; the time line is that of the rows where = remote. The
// interferer_solo_ columns may be left to interferer.csv. Traffic of the application
// beside the interferer serves only as the sum of both, which is what a counter of the
// memory controller shows. curves_random.csv is of an interferer that touches the lines of
// footprint_bytes in random order; its _llc_Bps count all its accesses. The
// relative_uncertainty is the half width of the 90% interval of the remote traffic ÷ this
// traffic; repeat_sd is the standard deviation of one of so many repeats of norm_perf, and
// standard_error that of the mean of so many readings. Read refuses
// local_, interferer_solo_, interferer_corun_ and app_ columns of which some are missing, and
// a repeat_sd or standard_error without its count. Other columns are ignored. The link is how
// co-runners reach the memory (memory.Link). pairs.csv and groups.csv serve to score only; no
// prediction sees them.
package evaluation
