/**
 * The packed value of one key: one record per policy. A record is
 *
 * - the size of the state: 1 byte; for a log `narrow` or `wide`, or `narrow` for any state of more than 253 bytes, and then
 *   the size as 4 bytes after the head
 * - the head: the length of the definition, the policy's id (from its name), and the definition (kind and numbers)
 * - the state: 7 bytes per number, or 8 if numbers may be fractions; the last number is left out if it is 0. Steps and
 *   bookings follow (bookings.ts); then nothing is left out
 *
 * Any other value is broken: a foreign text, a record that was cut, or the layout of another build. It is an error of that
 * key alone and is never overwritten. Only a reset deletes it.
 *
 * A state is found by its policy's id, and understood by its definition. A state with another definition is rewritten. A state of
 * unknown kind under the id of a policy of the request is broken: another build has counted there.
 * The stored state is foreign: units are given back and charged under its own numbers, and only an admitted call replaces it.
 * Records of policies that the request does not name belong to another deploy or plan. They are kept until they expire.
 *
 * The usual value, which has just the records of one scope's policies in their order, is recognised by its length and
 * heads. Any other value is parsed record by record.
 */
export const records = `
local narrow, wide = 254, 255
-- The kind of an algorithm is below this number. A build that writes records in another layout adds it to the kind.
local layouts = 32
-- The kind of a ban by hand, which no algorithm has.
local banKind = 31
local carry, waitCarried, resetCarried, revive, define, kinds, effectiveTime, parseRecords, margin

local function newState(p)
  if p.grows then return p.algorithm.new() end
  local s = {}
  for n = 1, p.slots do s[n] = 0 end
  return s
end

-- A state that is new or rewritten, but was not changed by a call, keeps its old record.
local function packRecord(p, s)
  if s.oldRecord then
    local foreign = s.foreign
    if not (foreign and foreign.wrote) then return s.oldRecord end
    return make('parseRecords').pack(foreign.policy, foreign.head, foreign.s)
  end
  if p.grows then
    local payload = p.algorithm.save(s)
    return char(s.form) .. p.head .. pack('<I4', #payload) .. payload
  end
  local slots = p.slots
  if s[slots] ~= 0 then
    if s.more then return make('parseRecords').pack(p, p.head, s) end
    return pack(p.longFormat, p.longHead, spread(s, 1, slots))
  end
  if slots > 5 then return pack(p.shortFormat, p.shortHead, spread(s, 1, slots - 1)) end
  return pack(p.shortFormat, p.shortHead, s[1], s[2], s[3], s[4])
end

-- Reads a policy's state if its record is the next one. Returns the position after the record, or nil.
local function readRecord(p, value, position)
  local s, size, head = p.buffer, p.shortSize, nil
  if #value - position + 1 < size then return nil end
  head, s[1], s[2], s[3], s[4] = unpack(p.shortFormat, value, position)
  if head == p.shortHead then
    s[p.slots] = 0
  else
    size = p.longSize
    if #value - position + 1 < size then return nil end
    head, s[1], s[2], s[3], s[4], s[5] = unpack(p.longFormat, value, position)
    if head ~= p.longHead then return nil end
  end
  if s.more then s.more = nil end
  p.s = s
  return position + size
end

-- Reads the states of a value that has just the records of these policies in their order. Returns false for any other value.
local function readRecords(scope, value)
  local position = 1
  for n = 1, #scope do
    if not scope[n].buffer then return false end
    position = readRecord(scope[n], value, position)
    if not position then return false end
  end
  return position > #value
end

function makers.parseRecords()
  local function unpackState(p, value, position, size, form)
    if p.grows then return p.algorithm.load(value, position, size, form) end
    local bytes = p.algorithm.numberFormat and 8 or 7
    local count = size / bytes
    local s = { unpack('<' .. rep(p.algorithm.numberFormat or 'i7', count), value, position) }
    if count > p.slots then s.more = { spread(s, p.slots + 1, count) } end
    for n = count + 1, p.slots + 1 do s[n] = 0 end
    return s
  end

  -- When the key has its full quota under the numbers of the record: the record is not needed after that.
  local function fullAtOf(from, s, now)
    local at = effectiveTime(from, s[1], now)
    local _, reset = from.algorithm.report(from, s, at)
    return at + reset
  end

  -- How long a key lives, in microseconds. A record of unknown kind does not say how long it is needed, so it lives as long as its
  -- key. A user who may not run the command keeps it as long as the longest window.
  local function lifeLeft(key)
    local life = redis.pcall('PTTL', KEYS[key])
    return type(life) == 'number' and life * 1000 or 366 * 86400000000
  end

  local function copyOf(s)
    local copy = {}
    for name, value in pairs(s) do copy[name] = value end
    if s.more then copy.more = { spread(s.more) } end
    return copy
  end

  -- Rewrites the state of a record with another definition. A store may forget a key that has its full quota at any time, so
  -- no decision may depend on the record of such a key.
  local function carryOver(p, from, old, record, expires, now)
    local s
    local lasting = expires > now or old[1] > now
    local foreign = { policy = from, s = old, head = sub(record, 2, 6 + byte(record, 2)) }
    function foreign.carried()
      s = carry(p, from, copyOf(old), now)
      s.oldRecord, s.expires, s.carried = record, fullAtOf(from, old, now), lasting and not p.retunes
      s.foreign = lasting and foreign
      return s
    end
    return foreign.carried()
  end

  -- The record of a state that has steps or bookings, or of a foreign state that has changed.
  local function packAny(p, head, s)
    if p.grows then
      local payload = p.algorithm.save(s)
      return char(s.form) .. head .. pack('<I4', #payload) .. payload
    end
    local number = p.algorithm.numberFormat or 'i7'
    local count = s[p.slots] == 0 and p.slots - 1 or p.slots
    local bytes = pack('<' .. rep(number, count), spread(s, 1, count))
    if s.more then bytes = bytes .. pack('<' .. rep(number, #s.more), spread(s.more)) end
    if #bytes < narrow then return char(#bytes) .. head .. bytes end
    return char(narrow) .. head .. pack('<I4', #bytes) .. bytes
  end

  -- Calls \`visit\` with each record of a value: its id, its definition, the position of its state, and the record.
  local function each(value, visit)
    local at, length = 1, #value
    while at <= length do
      local form, defined = byte(value, at, at + 1)
      local id, definition = sub(value, at + 2, at + 5), sub(value, at + 6, at + 5 + defined)
      local start, size = at + 6 + defined, form
      if form < 7 or byte(definition) >= layouts then error('unknown layout') end
      if form >= narrow then size, start = unpack('<I4', value, start) end
      if start + size - 1 > length then error('cut record') end
      visit(id, definition, start, size, form, sub(value, at, start + size - 1))
      at = start + size
    end
  end

  -- Loads the states of these policies from a value, and keeps the records of other policies as they are.
  function parseRecords(scope, value, now)
    local policyOf, others = {}, nil
    for _, p in ipairs(scope) do policyOf[sub(p.head, 2, 5)] = p end
    each(value, function(id, definition, start, size, form, record)
      local p = policyOf[id]
      if byte(definition) == banKind then
        scope.ban = make('bans').read(value, start, size)
      elseif p and sub(p.head, 6) == definition then
        p.s = unpackState(p, value, start, size, form)
      else
        make('carry')
        local from = revive(definition)
        if p and not from then error('unknown kind') end
        local s = from and unpackState(from, value, start, size, form)
        local expires = from and fullAtOf(from, s, now) or now + lifeLeft(scope.key) - margin
        if p then
          p.s, scope.provisional = carryOver(p, from, s, record, expires, now), true
        elseif not from or expires > now then
          others = others or {}
          others[#others + 1] = { record, expires }
        end
      end
    end)
    scope.others = others
  end

  return { pack = packAny, each = each, unpackState = unpackState, fullAt = fullAtOf, lifeLeft = lifeLeft }
end
`
