-- Runs a script of Slurm's as slurmctld or sbatch would, on the job that the
-- arguments describe, and prints what became of it.
--
--   harness.lua job_submit FILE TABLE NAME=VALUE...
--   harness.lua cli_filter FILE ANSWER NAME=VALUE...
--
-- ANSWER is what the command that is asked prints. PARTITION:NAME=default makes
-- a partition the default one. TIME=SECONDS is added to the clock. NEXT:NAME=VALUE is of a
-- second component, to which the options of the first are left.
local kind, file, given = arg[1], arg[2], arg[3]
local NO_VAL = 4294967294
slurm = { SUCCESS = 0, ERROR = -1, NO_VAL = NO_VAL }
for _, level in ipairs({ "info", "error", "debug", "verbose", "user" }) do
  slurm["log_" .. level] = function(format, ...) print("log " .. level .. ": " .. string.format(format, ...)) end
end

local real_time, shift = os.time, 0
os.time = function() return real_time() + shift end

local job, partitions, environment, following = { min_nodes = NO_VAL }, {}, {}, {}
for i = 4, #arg do
  local name, value = arg[i]:match("^([^=]+)=(.*)$")
  if name == "TIME" then
    shift = tonumber(value)
  elseif name:find("^ENV:") then
    environment[name:sub(5)] = value
  elseif name:find("^NEXT:") then
    following[name:sub(6)] = value
  elseif name:find("^PARTITION:") then
    partitions[name:sub(11)] = { name = name:sub(11), flag_default = value == "default" and 1 or 0 }
  elseif name == "min_nodes" then
    job[name] = tonumber(value)
  else
    job[name] = value
  end
end
os.getenv = function(name) return environment[name] end

-- What would leave the process is caught and told. job_submit may open one file
-- for reading, cli_filter may ask one command.
local open = io.open
local function forbid(where, names)
  for _, name in ipairs(names) do
    where[name] = function(...) print("FORBIDDEN " .. name .. " " .. tostring((...))) end
  end
end
io.open = function(path, mode)
  if kind ~= "job_submit" or mode ~= "r" then print("FORBIDDEN io.open " .. path .. " " .. tostring(mode)) end
  return open(path, mode)
end
local text = assert(open(file, "r")):read("*a")
if kind == "job_submit" then
  local replaced
  text, replaced = text:gsub('local TABLE = "[^"]*"', function() return string.format("local TABLE = %q", given) end)
  assert(replaced == 1, "one line of " .. file .. " names the table")
  forbid(io, { "popen", "lines", "input", "output", "tmpfile", "read" })
else
  forbid(io, { "lines", "input", "output", "tmpfile", "read" })
  io.popen = function(command)
    print("asks " .. command)
    local lines = {}
    for line in given:gmatch("[^\n]*\n?") do if line ~= "" then lines[#lines + 1] = (line:gsub("\n$", "")) end end
    return { read = function() return table.remove(lines, 1) end, close = function() return true end }
  end
end
local load = loadstring or load
local script = assert(load(text, "@" .. file))
forbid(os, { "execute", "remove", "rename", "tmpname", "exit" })
forbid(_G, { "dofile", "loadfile", "load", "loadstring", "require" })

local answer = script()
assert(answer == slurm.SUCCESS, "loading the script succeeds")
if kind == "job_submit" then
  answer = slurm_job_submit(job, partitions, 1000)
  assert(slurm_job_modify(job, {}, partitions, 1000) == slurm.SUCCESS, "changes pass")
else
  assert(slurm_cli_setup_defaults(job, false) == slurm.SUCCESS, "defaults pass")
  answer = slurm_cli_pre_submit(job, 0)
  if next(following) then
    for name, value in pairs(following) do job[name] = value end
    answer = slurm_cli_pre_submit(job, 1)
  end
  assert(slurm_cli_post_submit(0, 1, 0) == slurm.SUCCESS, "the submission passes")
end
print("answer " .. tostring(answer))
for _, name in ipairs({ "exc_nodes", "exclude", "admin_comment" }) do
  if job[name] ~= nil then print(name .. "=" .. job[name]) end
end
