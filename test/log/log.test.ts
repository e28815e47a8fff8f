import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pino, type DestinationStream } from 'pino'
import t, { type Test } from 'tap'
import { CallRecord, noteError } from '../../lib/core/record.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { logCall } from '../../lib/telemetry/call-log.ts'
import { createLog, type Log, LogOutput } from '../../lib/log/log.ts'
import { settings } from '../support/settings.ts'
import { receivedCall } from '../support/stages.ts'
import { until } from '../support/until.ts'
import { fillRecord, type RecordParts } from '../support/fill-record.ts'

function logged (record: RecordParts, level = 'info'): Array<Record<string, unknown>> {
  return linesOf(record, stream => createLog(level, stream))
}

function linesOf (
  record: RecordParts,
  logTo: (stream: DestinationStream) => Log
): Array<Record<string, unknown>> {
  const lines: Array<Record<string, unknown>> = []
  const log = logTo({ write: line => { lines.push(JSON.parse(line)) } })
  logCall(log, receivedCall({
    id: 'call_1',
    headers: { authorization: 'Bearer canary-of-a-caller' },
    body: async () => await Promise.resolve('canary of a body'),
    record: fillRecord(new CallRecord('chat'), record)
  }), undefined, settings().server)
  return lines
}

const info = 'info'
const warn = 'warn'
const error = 'error'

t.test('one line says who called what, which model ran and what it used', async t => {
  const lines = logged({
    caller: { keyId: 'key_1' },
    request: { requestedModel: 'quick', isStreamed: true },
    routing: { modelId: 'openai/m', providerId: 'openai', requestCount: 2 },
    end: { status: 200, outcome: 'ok' },
    times: { firstByteMs: 1.23456, upstreamWaitMs: 1 },
    usage: { total: { promptTokens: 3, completionTokens: 4, totalTokens: 7 } }
  })
  t.match(lines, [{
    level: info, id: 'call_1', key: 'key_1', endpoint: 'chat', requested: 'quick', model: 'openai/m',
    provider: 'openai', status: 200, outcome: 'ok', attempts: 2, streamed: true, first_byte_ms: 1.23,
    total_ms: Number, usage: { prompt: 3, completion: 4, total: 7 }
  }])
  t.notMatch(JSON.stringify(lines), 'canary')
})

t.test('a logger with its own settings formats the line by them', async t => {
  const options = { messageKey: 'message', redact: ['requested'] }
  const record = { request: { requestedModel: 'a "model"\n' }, end: { status: 200, outcome: 'ok' } } as const
  const [own] = linesOf(record, stream => pino(options, stream))
  t.match(own, { message: 'call', requested: '[Redacted]' })
  const [ours] = logged(record)
  t.match(ours, { level: info, time: /^\d{4}-.*Z$/, requested: 'a "model"\n', msg: 'call' })
  t.notOk('error' in (ours ?? {}), 'what is not known is left out')
})

t.test('the time of a line is that of the clock, to the millisecond', async t => {
  for (const time of [
    '2026-01-02T03:04:05.000Z',
    '2026-01-02T03:04:05.007Z',
    '2026-01-02T03:04:05.060Z',
    '2026-01-02T03:04:05.999Z',
    '2026-01-02T03:04:06.000Z',
    '2025-12-31T23:59:59.100Z'
  ]) {
    t.intercept(Date, 'now', { value: () => Date.parse(time) })
    t.equal(logged({})[0]?.['time'], time)
  }
})

t.test('the level depends on who caused the error', async t => {
  const level = (record: RecordParts): unknown => logged(record, 'info')[0]?.['level']
  t.equal(level({ end: { outcome: 'ok', status: 200 } }), info)
  t.equal(level({ end: { outcome: 'client_closed', status: 499 } }), info)
  t.equal(level({ end: { outcome: 'error', status: 404, errorCode: 'model_not_found' } }), info)
  t.equal(level({ end: { outcome: 'error', status: 502, errorCode: 'upstream_error' } }), warn)
  t.equal(
    level({ end: { outcome: 'error', status: 200, errorCode: 'upstream_stream_interrupted' } }),
    warn,
    'cut in the middle'
  )
  t.equal(level({ end: { outcome: 'error', status: 500, errorCode: 'internal_error' } }), error)
})

t.test('lines below the level are not written', async t => {
  t.same(logged({ end: { outcome: 'ok', status: 200 } }, 'warn'), [])
  t.same(logged({ end: { outcome: 'error', status: 500, errorCode: 'internal_error' } }, 'silent'), [])
})

t.test('causes are logged without keys', async t => {
  const keys = [
    'sk-proj-canary0123456789', 'xai-canary0123456789', 'AIzaCanary0123456789', 'hg_canary0123456789',
    'Bearer canary0123456789', 'gsk_canary0123456789'
  ]
  for (const key of keys) {
    const causes = [
      Object.assign(new Error(`Incorrect API key provided: ${key}.`), { code: 'E1' }),
      `refused ${key}`, { error: { message: `refused ${key}` } }
    ]
    for (const cause of causes) {
      const record = new CallRecord('chat')
      noteError(record.end, new GatewayError('upstream_error', { cause }))
      const [line] = logged(fillRecord(record, { end: { status: 502 } }))
      t.ok(line?.['cause'], key)
      t.notMatch(JSON.stringify(line), /canary/i, key)
    }
  }
})

t.test('no call passes a bare error to the log, since pino would print nothing of it', async t => {
  const folder = join(import.meta.dirname, '../../../lib')
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.ts')
  )
  const bare = sources.flatMap(name => {
    const calls =
      readFileSync(join(folder, name), 'utf8').match(
        /\blog\.(?:error|warn|info)\(\s*\{(?:[^}]*,)?\s*error\s*[,}]/g
      ) ?? []
    return calls.map(call => `${name}: ${call}`)
  })
  t.same(bare, [], 'log `cause: loggableError(error)`')
})

/**
 * Writes as scripted: a number of bytes, all of them by default, or an error with a code, or `never`; and
 * records the attempts.
 */
function outputOf (
  t: Test,
  ...outcomes: Array<number | string>
): { readonly output: LogOutput, readonly written: () => string, readonly attempts: string[] } {
  const attempts: string[] = []
  let written = ''
  const attempt = (bytes: Buffer): number => {
    attempts.push(bytes.toString())
    const outcome = outcomes.shift() ?? bytes.length
    if (typeof outcome === 'string') throw Object.assign(new Error('write failed'), { code: outcome })
    written += bytes.toString('utf8', 0, outcome)
    return outcome
  }
  const output = new LogOutput({
    write: (_file, bytes, done) => {
      if (outcomes[0] === 'never') {
        attempts.push(bytes.toString())
        return
      }
      setImmediate(() => {
        try {
          done(null, attempt(bytes))
        } catch (error) {
          done(error as Error, 0)
        }
      })
    },
    writeSync: (_file, bytes, offset) => attempt(bytes.subarray(offset))
  })
  t.teardown(() => output.close())
  return { output, attempts, written: () => written }
}

async function flushed (output: LogOutput): Promise<void> {
  await new Promise<void>(resolve => { output.flush(resolve) })
}

t.test('lines are written in batches, and a partial write is completed', async t => {
  const { output, attempts, written } = outputOf(t, 3)
  output.write('one\n')
  output.write('two\n')
  t.same(attempts, [])
  await flushed(output)
  t.same(attempts, ['one\ntwo\n', '\ntwo\n'])
  t.equal(written(), 'one\ntwo\n')
  await flushed(output)
})

t.test('lines wait only a moment, or until the current write ends', async t => {
  const { output, attempts, written } = outputOf(t)
  output.write('a'.repeat(40_000))
  output.write('b'.repeat(40_000))
  output.write('c')
  await until(() => written().endsWith('c'), 'the last line')
  t.equal(attempts.length, 3)
  t.equal(written().slice(-2), 'bc')
})

t.test('nothing is written after the destination has closed', async t => {
  for (const code of ['EIO', 'EPIPE', 'EBADF']) {
    const { output, attempts } = outputOf(t, code)
    output.write('one\n')
    await flushed(output)
    output.write('two\n')
    output.write('a'.repeat(40_000))
    await flushed(output)
    output.writeBeforeExit()
    t.same(attempts, ['one\n'], code)
  }
})

t.test('an exit writes pending lines once, and does not wait if that fails', async t => {
  for (const code of ['EIO', 'EPIPE', 'EBADF', 'ENOSPC']) {
    const { output, attempts } = outputOf(t, code)
    output.write('one\n')
    output.writeBeforeExit()
    output.writeBeforeExit()
    t.same(attempts, ['one\n'], code)
  }
})

t.test('lines that cannot be written yet are written later', async t => {
  for (const code of ['EAGAIN', 'EBUSY', 'ENOSPC']) {
    const { output, written } = outputOf(t, code)
    output.write('one\n')
    const flushing = flushed(output)
    await until(() => written() === 'one\n', `another attempt after ${code}`)
    await flushing
  }
  const { output, written } = outputOf(t, 'EAGAIN', 'EAGAIN', 2)
  output.write('one\n')
  output.writeBeforeExit()
  t.equal(written(), 'one\n', 'an exit waits a moment for it')
  const { output: failed, attempts, written: writtenLater } = outputOf(t, 'ENOSPC')
  failed.write('one\n')
  const flushing = flushed(failed)
  await until(() => attempts.length === 1, 'an attempt')
  failed.write('two\n')
  failed.writeBeforeExit()
  await flushing
  t.equal(writtenLater(), 'one\ntwo\n', 'and has both')
})

t.test('lines that nothing reads are dropped beyond a limit, and at exit', async t => {
  const { output, attempts } = outputOf(t, 'never')
  const line = 'a'.repeat(32 * 1024)
  const memoryBefore = process.memoryUsage().rss
  for (let count = 0; count < 100_000; count++) output.write(line)
  t.ok(process.memoryUsage().rss - memoryBefore < 200_000_000)
  t.equal(attempts.length, 1)
  output.close()
  await flushed(output)
  output.writeBeforeExit()
  t.equal(attempts.length, 1)
})
