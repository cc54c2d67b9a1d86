/**
 * The keys of a batch. Each key is read once and written once. At any time, the policies of a scope (kind of key) have the states of one
 * key (the loaded key).
 *
 * MGET returns no value for a key that is not a string, such as a list. So if MGET returned no value, the key is only created,
 * never overwritten. If the creation fails, nothing was written. The script then decides all requests of the batch again, with the key
 * marked as `mistyped`.
 */
export const states = `
-- Four lists, by the number of the key: the value that was read, or false; the value to write, or false to delete the key;
-- and when each of these values expires.
local read, written, readExpiry, writtenExpiry
-- By the number of the key: true if the key is known to be no string.
local mistyped = {}
-- By the number of the key: the scope whose policies have the states of the key. Nil if the batch has only one plan.
local loadedBy

-- Returns the value to write, and when it expires: when the key has its full quota, plus a margin because clocks differ.
-- For a value of one record, this time is rounded up to a multiple of the policy's grain. So readers can calculate it from
-- the state, and most calls need not set it again.
local function packValue(scope)
  local value, only, expiry = '', nil, scope.fullAt
  for n = 1, #scope do
    local p = scope[n]
    local s = p.s
    local record = packRecord(p, s)
    if record ~= '' then only = value == '' and (s.oldRecord and s.foreign and s.foreign.policy or p) end
    if s.oldRecord then expiry = max(expiry, s.expires) end
    value = value .. record
  end
  for _, other in ipairs(scope.others or {}) do
    value, only = value .. other[1], nil
    expiry = max(expiry, other[2])
  end
  if scope.ban then
    value, only = value .. scope.ban.record, nil
    expiry = max(expiry, scope.ban.till)
  end
  local grain = only and only.grain
  return value, grain and ceil((expiry + margin) / grain) * grain or expiry + margin
end

local function unload(scope)
  local key = scope.key
  if scope.changed then
    written[key], writtenExpiry[key] = packValue(scope)
    scope.changed = false
  end
  scope.key = false
  if loadedBy then loadedBy[key] = nil end
end

-- True if the key is no string: SETRANGE with an empty text then fails. On a string, it changes nothing.
local function hasOtherType(key)
  local reply = redis.pcall('SETRANGE', KEYS[key], '0', '')
  mistyped[key] = type(reply) == 'table' and sub(reply.err, 1, 9) == 'WRONGTYPE'
  return mistyped[key]
end

-- Loads the states of a key into the policies of a scope. Returns true, and loads nothing, if the value cannot be read.
-- @param looks true if the request writes nothing, so that only a check here can find a key that is no string
local function load(scope, key, now, looks)
  if scope.key then unload(scope) end
  if loadedBy then
    if loadedBy[key] then unload(loadedBy[key]) end
    loadedBy[key] = scope
  end
  scope.key, scope.provisional, scope.others, scope.ban = key, false, nil, nil
  local value, first = written[key], scope[1]
  if value == nil then value = read[key] end
  if value and readRecords(scope, value) then
    if first.grain and not scope[2] and written[key] == nil then
      local s = first.s
      local _, reset = first.algorithm.report(first, s, s[1])
      readExpiry[key] = ceil((s[1] + reset + margin) / first.grain) * first.grain
    end
    return
  end
  for n = 1, #scope do scope[n].s = nil end
  local broken
  if value then
    make('parseRecords')
    broken = not pcall(parseRecords, scope, value, now)
  else
    broken = mistyped[key] or (looks and read[key] == false and hasOtherType(key))
  end
  if broken then
    scope.key = false
    if loadedBy then loadedBy[key] = nil end
    return true
  end
  for n = 1, #scope do
    if not scope[n].s then
      local s = newState(scope[n])
      s.oldRecord, s.expires, scope[n].s = '', 0, s
    end
  end
end

local function forget(scope, key)
  local loaded = loadedBy and loadedBy[key] or scope.key == key and scope
  if loaded then loaded.key, loaded.changed = false, false end
  if loadedBy then loadedBy[key] = nil end
  read[key], readExpiry[key], written[key], mistyped[key] = nil, nil, false, nil
end

local lastLife, lifeText

-- For how many milliseconds the key has to be stored. Nil if it has its full quota, so that it can be deleted.
local function lifeOf(key, now)
  local life = ceil((writtenExpiry[key] - now) / 1000)
  if life <= 0 then return nil end
  -- The text of the last number is used again, because consecutive keys often have the same life.
  if life ~= lastLife then lastLife, lifeText = life, format('%d', life) end
  return lifeText
end

-- Creates the keys that had no value and need a value. Returns false, and creates no key, if one of the keys is no string.
local function create(now)
  local failed
  for key = 1, #KEYS do
    if read[key] == false and written[key] then
      local life = lifeOf(key, now)
      if not life then
        written[key] = nil
      elseif not call('SET', KEYS[key], written[key], 'PX', life, 'NX') then
        mistyped[key], failed = true, true
      end
    end
  end
  if not failed then return true end
  for key = 1, #KEYS do
    if read[key] == false and written[key] and not mistyped[key] then call('DEL', KEYS[key]) end
  end
  return false
end

-- Writes the value of a key, if the value or its expiry changed.
local function save(key, name, now)
  local value = written[key]
  if value == nil or read[key] == false then return end
  if not value then return call('DEL', name) end
  if writtenExpiry[key] == readExpiry[key] and #value == #read[key] then return call('SETRANGE', name, '0', value) end
  local life = lifeOf(key, now)
  if not life then return call('DEL', name) end
  call('SET', name, value, 'PX', life)
end
`
