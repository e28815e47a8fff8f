import t from 'tap'
import { readableLine } from '../../lib/log/readable-line.ts'

const time = '2026-01-02T03:04:05.000Z'
const at = new Date(time).toTimeString().slice(0, 8)

function readable (fields: object, isColoured = false): string {
  return readableLine(JSON.stringify({ level: 'info', time, ...fields }) + '\n', isColoured)
}

t.test('a call is one line with the endpoint and the outcome', async t => {
  const call = {
    id: 'c',
    client: '192.0.2.1',
    key: 'key_1',
    key_name: 'ci',
    endpoint: 'chat',
    requested: 'quick',
    model: 'openai/m',
    provider: 'openai',
    status: 200,
    outcome: 'ok',
    streamed: true,
    attempts: 1,
    total_ms: 12.34,
    first_byte_ms: 3,
    usage: { prompt: 3, completion: 4, total: 7 },
    msg: 'call'
  }
  t.equal(readable(call), `${at} info  200 chat openai/m 12 ms 7 tokens key=ci\n`)
  t.equal(
    readable({ ...call, attempts: 3, failed_attempts: ['a/b 503'] }),
    `${at} info  200 chat openai/m 12 ms 7 tokens key=ci attempts=3 failed_attempts=["a/b 503"]\n`
  )
  t.equal(
    readable({ ...call, outcome: 'client_closed' }),
    `${at} info  200 chat openai/m 12 ms 7 tokens key=ci outcome=client_closed\n`,
    'an answer that was left'
  )
  t.equal(
    readable({
      level: 'warn',
      endpoint: 'chat',
      requested: 'none',
      status: 404,
      outcome: 'error',
      error: 'model_not_found',
      total_ms: 1,
      msg: 'call'
    }),
    `${at} warn  404 chat none 1 ms error=model_not_found\n`
  )
  t.equal(
    readable({ endpoint: 'models', outcome: 'client_closed', total_ms: 1, msg: 'call' }),
    `${at} info  client_closed models 1 ms\n`,
    'no status was sent'
  )
})

t.test('any other line has its message and every field', async t => {
  t.equal(
    readable({ level: 'error', error: { name: 'TypeError', message: 'x' }, file: 'a b', msg: 'a fault' }),
    `${at} error a fault error={"name":"TypeError","message":"x"} file="a b"\n`
  )
})

t.test('levels that need attention are coloured', async t => {
  t.equal(readable({ level: 'warn', msg: 'look' }, true), `${at} \u001B[33mwarn \u001B[0m look\n`)
  t.equal(readable({ msg: 'fine' }, true), `${at} info  fine\n`)
})

t.test('a name from a caller cannot control the terminal or start a new line', async t => {
  for (const name of ['\u001B[2J', '\u009B31m', 'a\nb', 'a\r', '\u202Eb', '\u2028']) {
    const line = readable({
      endpoint: 'chat',
      requested: name,
      key_name: name,
      status: 404,
      total_ms: 1,
      msg: 'call'
    })
    t.notMatch(line.slice(0, -1), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, encodeURIComponent(name))
    t.match(line, /\\(u[0-9a-f]{4}|n|r)/)
  }
})
