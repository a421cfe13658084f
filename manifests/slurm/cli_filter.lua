-- Bandmate's advice at the command line: sbatch, salloc and srun keep a
-- labeled job off the nodes on which it or their jobs would be slowed down too
-- much. Label a job with --comment "bandmate=NAME".
--
-- This runs as the user, on the user's machine, before anything is submitted:
-- it may ask and wait, two seconds at most. When the question fails, the job
-- goes as it came. It also goes so when the user chose nodes (--nodelist,
-- --exclude), inside an allocation, and with BANDMATE_SLURM=off.
--
-- Install it as cli_filter.lua beside slurm.conf; slurm.conf:
-- CliFilterPlugins=lua

-- A site may add --limit=1.15, or other flags of bandmate slurm advise.
local ASK = "timeout 2 bandmate slurm advise --exclude-list"

-- Only what cannot mean anything to a shell is passed on.
local function harmless(value)
  return type(value) == "string" and value:find("^[%w._,-]+$") ~= nil and value:sub(1, 1) ~= "-"
end

-- Between single quotes a shell also takes these as they are.
local function resource(value)
  return type(value) == "string" and value:find("^[%w._,:/&|*()%[%]=-]+$") ~= nil and value:sub(1, 1) ~= "-"
end

-- What Slurm's versions say of an option that was not given, or that the command does
-- not have.
local UNSET = {
  [""] = true, ["-1"] = true, ["-2"] = true, ["0"] = true, unset = true, notset = true, ["(null)"] = true,
  ["invalid-context"] = true,
  ["2982616-04:14:00"] = true, -- a time limit that was not given, before Slurm 23.11
}

local function given(value)
  return value ~= nil and not UNSET[tostring(value)]
end

-- With one of these a job goes as it came: they bind it to nodes in ways that the
-- question cannot tell. The tasks of an array need more nodes than the one that is best
-- for the first of them: slurm submit places them one by one. Other clusters have other
-- nodes.
local BINDING = {
  "array", "clusters",
  "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "tres-per-task",
  "mem-per-cpu", "mem-per-gpu", "nodefile", "contiguous", "switches",
  "ntasks-per-node", "ntasks-per-socket", "mincpus", "sockets-per-node", "cores-per-socket", "threads-per-core",
  "core-spec", "hint", "overcommit",
}
-- These are part of the question.
local ASKED = { "constraint", "gres", "mem", "reservation", "time" }

-- label_of returns the application that a comment names, as bandmate slurm reads it, or nil:
-- the first word bandmate=NAME counts, and NAME must be the name of a Kubernetes object.
local function label_of(comment)
  local name = (" " .. (comment or "")):match("[%s,;]bandmate=([^%s,;]*)")
  if not name or name == "" or #name > 253 or name:find("[^a-z0-9.-]") then return nil end
  local dotted = "." .. name .. "."
  if dotted:find("%.[.-]") or dotted:find("-.", 1, true) then return nil end
  return name
end

-- limit_of returns the limit in a comment as slurm advise takes it, or nil. A limit of the
-- site protects others, and no job lifts it.
local function limit_of(comment)
  if ASK:find("--limit", 1, true) then return nil end
  local word = (" " .. comment):match("[%s,;]bandmate%-limit=([^%s,;]*)") or ""
  local limit = word:gsub("[x×]+$", ""):match("^%d+%.?%d*$")
  if limit and tonumber(limit) >= 1 then return limit end
end

-- whole returns a value as a whole number, or nil.
local function whole(value)
  return tonumber((tostring(value or ""):match("^%d+$")))
end

-- size returns how many nodes to ask about, as 2 or 2-4, and how many tasks; nil for what the
-- job does not name. sbatch says one task where the user gave none, and Slurm then starts one
-- on each node of a range.
local function size(options)
  local nodes, tasks = tostring(options["nodes"] or ""), whole(options["ntasks"])
  local least, most = tonumber(nodes:match("^%d+")), tonumber(nodes:match("^%d+%-(%d+)$"))
  if not least or least < 1 then return nil, tasks end
  if not most or most <= least then return string.format("%d", least), tasks end
  return string.format("%d-%d", least, most), tasks ~= 1 and tasks or nil
end

-- question returns the command that asks for the exclusion, or nil.
local function question(options)
  if os.getenv("BANDMATE_SLURM") == "off" or os.getenv("SLURM_JOB_ID") then return nil end
  if given(options["nodelist"]) or given(options["exclude"]) then return nil end
  local application = label_of(options["comment"])
  if not harmless(application) then return nil end
  for _, option in ipairs(BINDING) do
    local value = options[option]
    if given(value) and value ~= "false" then return nil end
  end
  local command = { ASK, "--application", application }
  for _, option in ipairs(ASKED) do
    if given(options[option]) then
      if not resource(options[option]) then return nil end
      command[#command + 1] = string.format("--%s='%s'", option, options[option])
    end
  end
  if given(options["partition"]) and harmless(options["partition"]) then
    command[#command + 1] = "--partition=" .. options["partition"]
  end
  -- Which nodes other users have, or share, cannot be part of the question.
  local sharing = options["exclusive"]
  if sharing == "user" or sharing == "mcs" or sharing == "oversubscribe" then return nil end
  if options["exclusive"] == "exclusive" then command[#command + 1] = "--exclusive" end
  local limit = limit_of(options["comment"])
  if limit then command[#command + 1] = "--limit=" .. limit end
  local nodes, tasks = size(options)
  if nodes then command[#command + 1] = "--nodes=" .. nodes end
  for option, number in pairs({ ntasks = tasks, ["cpus-per-task"] = whole(options["cpus-per-task"]) }) do
    if number > 0 and number < 1e6 then
      command[#command + 1] = string.format("--%s=%d", option, number)
    end
  end
  command[#command + 1] = "2>/dev/null"
  return table.concat(command, " ")
end

-- ask runs a command and returns the first two lines that it prints; nil for a missing one.
local function ask(command)
  local answer = command and io.popen(command, "r")
  if not answer then return end
  -- Lua 5.1 does not tell the exit code: an answer counts only when it is a
  -- host list and nothing else.
  local nodes, more = answer:read("*l"), answer:read("*l")
  answer:close()
  return nodes, more
end

-- Slurm passes --exclude on from one component of a heterogeneous job to the next: excluded
-- is what the component before got here.
local excluded

local function advise(options)
  if excluded and options["exclude"] == excluded then options["exclude"] = "" end
  excluded = nil
  local nodes, more = ask(question(options))
  if not nodes or more or not nodes:find("^[%w._,%[%]-]+$") or nodes:sub(1, 1) == "-" then return end
  options["exclude"], excluded = nodes, nodes
  slurm.log_info("bandmate: --exclude=%s", nodes)
end

function slurm_cli_setup_defaults(options, early_pass)
  return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, pack_offset)
  pcall(advise, options)
  return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
  return slurm.SUCCESS
end

return slurm.SUCCESS
