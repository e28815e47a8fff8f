import t from 'tap'
import { createLog } from '../../lib/log/log.ts'
import { logRecordOf, openOtlpLogs } from '../../lib/telemetry/otlp-logs.ts'
import { collectAll } from '../support/collect-young.ts'
import { collector } from '../support/collector.ts'
import { otlpSettings } from '../support/settings.ts'
import { settles, until } from '../support/until.ts'

const [traceId, spanId] = ['a'.repeat(32), 'b'.repeat(16)]
const line = (parts: object = {}): string =>
  `${JSON.stringify({ level: 'info', time: '2026-11-22T03:24:43.512Z', id: 'call-1', usage: { prompt: 3 }, ...parts, msg: 'call' })}\n`

t.test('a line becomes a record with its fields and time, within the span of its call', async t => {
  const seen = await collector(t)
  const logs = openOtlpLogs(otlpSettings(seen.url), createLog('silent'))
  logs.write(line({ trace_id: traceId, span_id: spanId }))
  logs.write(line({ level: 'error' }))
  await logs.close()
  t.match(seen.logs(), [
    {
      body: 'call',
      severity: 9,
      severityText: 'INFO',
      atMs: Date.parse('2026-11-22T03:24:43.512Z'),
      traceId,
      spanId,
      attributes: { id: 'call-1', usage: { prompt: 3 } }
    },
    { body: 'call', severity: 17, traceId: undefined }
  ])
  t.notOk('level' in (seen.logs()[0]?.attributes ?? {}))
  t.equal(logs.dropped(), 0)
})

t.test('every level has its severity', async t => {
  t.strictSame(
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map(
      level => logRecordOf(line({ level })).severityNumber
    ),
    [1, 5, 9, 13, 17, 21]
  )
})

for (const [what, script] of [
  ['refuses them', { status: 400, pieces: ['{}'] }],
  ['never answers', { silent: true }]
] as const) {
  t.test(
    `records for a collector that ${what} are counted, use limited memory, and delay no shutdown`,
    async t => {
      const seen = await collector(t, script)
      const lines: string[] = []
      const logs = openOtlpLogs(
        otlpSettings(seen.url, { maxQueuedLogs: 4 }),
        createLog('info', {
          write: text => {
            lines.push(text)
          }
        })
      )
      for (let number = 0; number < 10; number++) logs.write(line())
      t.equal(logs.dropped(), 6, 'room for four')
      collectAll()
      const before = process.memoryUsage().heapUsed
      for (let number = 0; number < 10_000; number++) logs.write(line())
      collectAll()
      // 10,000 queued records take several times as much
      t.ok(process.memoryUsage().heapUsed - before < 1024 * 1024)
      await until(() => seen.requests.length > 0, 'a full batch')
      await settles(logs.close(), 'the stop')
      t.equal(logs.dropped(), 10_010)
      t.equal(lines.filter(text => text.includes('log records were dropped')).length, 1)
    }
  )
}
