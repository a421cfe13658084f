-- Bandmate's advice at submission: keeps a job off the nodes on which it or
-- their jobs would be slowed down too much, by a table that
-- `bandmate slurm watch --table FILE` writes.
--
-- slurmctld runs this while it holds its locks. So nothing here starts a
-- program, opens a connection or waits: one local file is read, its text is
-- searched, never executed. Whatever is wrong with it, the job passes as it
-- came; no job is ever refused.
--
-- Install it as job_submit.lua beside slurm.conf, or paste its two functions
-- into the one you have; slurm.conf: JobSubmitPlugins=lua
--
-- The table:
--   bandmate-advice 1                    format
--   written 1795149901                   Unix time of the writing
--   max-age 60                           seconds for which it is true
--   least-memory 64000                   MiB that every node has
--   least-cpus 16                        CPUs that every node has that remains
--   job-name NAME APPLICATION            what a job of that name runs, by the site file
--   exclude APPLICATION PARTITION KEPT NODES
--                                        KEPT nodes of the partition remain
--   end                                  it is whole

local TABLE = "/run/bandmate/advice.table"
local MAX_BYTES = 4 * 1024 * 1024
local OURS = "bandmate: "

-- read_table returns the text of the table, or nil and why there is none.
local function read_table(now)
  local file = io.open(TABLE, "r")
  if not file then return nil, "no table" end
  local text = file:read(MAX_BYTES) or ""
  file:close()
  if not text:find("^bandmate%-advice 1\n") then return nil, "unknown format" end
  if not text:find("\nend\n$") then return nil, "incomplete table" end
  local written = tonumber(text:match("\nwritten (%d+)\n"))
  local max_age = tonumber(text:match("\nmax%-age (%d+)\n"))
  if not written or not max_age then return nil, "unknown format" end
  -- A table of the future is one that a clock change made old or new.
  if math.abs(now - written) > max_age then return nil, "stale table" end
  return text
end

-- line_of returns the rest of the line that starts with these words.
local function line_of(text, words)
  local _, stop = text:find("\n" .. words .. " ", 1, true)
  return stop and text:match("^[^\n]*", stop + 1)
end

-- label_of returns the application that a comment names, as bandmate slurm reads it, or nil:
-- the first word bandmate=NAME counts, and NAME must be the name of a Kubernetes object.
local function label_of(comment)
  local name = (" " .. (comment or "")):match("[%s,;]bandmate=([^%s,;]*)")
  if not name or name == "" or #name > 253 or name:find("[^a-z0-9.-]") then return nil end
  local dotted = "." .. name .. "."
  if dotted:find("%.[.-]") or dotted:find("-.", 1, true) then return nil end
  return name
end

-- application_of returns what the job runs: the comment says it, else the name
-- of the job.
local function application_of(job, text)
  local said = label_of(job.comment)
  if said then return said end
  local name = job.name or ""
  if not name:find("^[%w._+-]+$") then return nil end
  return line_of(text, "job-name " .. name) or name
end

local function empty(value) return value == nil or value == "" end

-- given returns a number that the job sets, or nil: of 16 and 32 bits, Slurm keeps the two
-- highest for "not given" and "infinite".
local function given(value)
  local number = tonumber(value)
  if number and number > 0 and number < 4294967294 and number ~= 65534 and number ~= 65535 then return number end
end

-- only_cpus reports whether resources of a task are just CPUs: since Slurm 23.11, -c 8 is
-- cpu=8 there.
local function only_cpus(resources) return ("," .. resources):gsub(",cpu[:=]%d+", "") == "" end

-- binds reports whether the job asks for more than CPUs and nodes that are all alike:
-- the nodes that remain may never have it, and Slurm would refuse the job.
local function binds(job)
  for _, name in ipairs({ "features", "gres", "tres_per_node", "tres_per_job", "tres_per_socket", "reservation" }) do
    if not empty(job[name]) then return name end
  end
  if not empty(job.tres_per_task) and not only_cpus(job.tres_per_task) then return "tres_per_task" end
  for _, name in ipairs({ "sockets_per_node", "cores_per_socket", "threads_per_core", "ntasks_per_socket", "ntasks_per_core" }) do
    if given(job[name]) then return name end
  end
end

-- memory returns how many MiB the job asks for on a node at most; nil when it asks for
-- none. Slurm's mark for "not given" is far above any amount.
local function memory(job)
  local each, node = tonumber(job.min_mem_per_cpu), tonumber(job.min_mem_per_node)
  if each and each < 1e12 then
    local cpus = tonumber(job.min_cpus) or 1
    return each * ((cpus < 1 or cpus >= 1e6) and 1 or cpus)
  end
  if node and node < 1e12 then return node end
end

-- fits reports whether nodes with so many CPUs can run the job.
local function fits(job, nodes, cpus)
  local tasks_on_each = math.floor(cpus / (given(job.cpus_per_task) or 1))
  return (given(job.num_tasks) or 1) <= tasks_on_each * nodes
    and (given(job.ntasks_per_node) or 1) <= tasks_on_each
    and (given(job.pn_min_cpus) or 1) <= cpus
    and (given(job.min_cpus) or 1) <= cpus * nodes
end

-- exclusion returns the nodes that the job stays off, or nil and why not.
local function exclusion(job, partition, now)
  if not empty(job.req_nodes) or not empty(job.exc_nodes) then return nil, "the user chose nodes" end
  if binds(job) then return nil, "the job asks for " .. binds(job) end
  local text, why = read_table(now)
  if not text then return nil, why end
  if memory(job) and memory(job) > (tonumber(text:match("\nleast%-memory (%d+)\n")) or 0) then
    return nil, "not every node has the memory"
  end
  local application = application_of(job, text)
  if not application then return nil, "no application" end
  if empty(partition) or not partition:find("^[%w._-]+$") then return nil, "not one partition" end
  local kept, nodes = (line_of(text, "exclude " .. application .. " " .. partition) or ""):match("^(%d+) (%S+)$")
  if not nodes then return nil, "nothing to exclude" end
  local wanted = given(job.min_nodes) or 1
  if wanted > tonumber(kept) then return nil, "too few nodes would remain" end
  local cpus = tonumber(text:match("\nleast%-cpus (%d+)\n"))
  if cpus and not fits(job, wanted, cpus) then return nil, "not every node that remains has the CPUs" end
  return nodes, application
end

-- default_partition returns the name of the partition of jobs that name none.
local function default_partition(partitions)
  for name, partition in pairs(partitions or {}) do
    if partition.flag_default ~= nil and partition.flag_default ~= 0 then return partition.name or name end
  end
end

local function advise(job, partitions)
  -- The comment of the operator tells the watch that the exclusion is ours to
  -- take back; where someone else's stands, nothing is excluded.
  if not empty(job.admin_comment) then return end
  local partition = job.partition
  if empty(partition) then partition = default_partition(partitions) end
  local nodes, why = exclusion(job, partition, os.time())
  if not nodes then
    slurm.log_debug("bandmate: %s", why)
    return
  end
  job.exc_nodes = nodes
  job.admin_comment = OURS .. "exclude=" .. nodes
  slurm.log_info("bandmate: %s in %s stays off %s", why, partition, nodes)
end

function slurm_job_submit(job_desc, part_list, submit_uid)
  local ok, fault = pcall(advise, job_desc, part_list)
  if not ok then slurm.log_error("bandmate: %s", tostring(fault)) end
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS
