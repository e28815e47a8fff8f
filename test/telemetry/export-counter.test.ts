import t from 'tap'
import { createLog } from '../../lib/log/log.ts'
import { ExportCounter, type Exporter } from '../../lib/telemetry/export-counter.ts'

function counted (max: number): { counter: ExportCounter, lines: string[] } {
  const lines: string[] = []
  return {
    counter: new ExportCounter(
      max,
      createLog('info', {
        write: line => {
          lines.push(line)
        }
      }),
      'some were dropped'
    ),
    lines
  }
}

const exporter = (code: number, error?: Error): Exporter<number[]> => ({
  export: (_, onResult) => onResult({ code, ...error !== undefined && { error } })
})

t.test('items beyond the queue limit are dropped until some have been sent', async t => {
  const { counter, lines } = counted(2)
  t.strictSame([1, 2, 3].map(() => counter.add()), [true, true, false])
  t.equal(counter.dropped, 1)
  counter.send(exporter(0), [1, 2], 2, () => undefined)
  t.equal(counter.add(), true)
  t.equal(counter.dropped, 1)
  t.equal(lines.length, 1)
})

t.test('items that the collector refuses are counted and logged once a minute with the reason', async t => {
  const { counter, lines } = counted(9)
  let nowMs = 1000
  t.intercept(performance, 'now', { value: () => nowMs })
  const results: number[] = []
  const fail = (): void => {
    counter.add()
    counter.send(exporter(1, new Error('no connection')), [1], 1, ({ code }) => { results.push(code) })
  }
  fail()
  fail()
  t.match(
    lines.map(line => JSON.parse(line) as object),
    [{ level: 'warn', msg: 'some were dropped', dropped: 1, cause: { message: 'no connection' } }]
  )
  t.equal(lines.length, 1)
  nowMs += 60_001
  fail()
  t.match(JSON.parse(lines[1] ?? ''), { dropped: 3 })
  t.strictSame(results, [1, 1, 1])
})

t.test('items still queued at shutdown count as dropped', async t => {
  const { counter } = counted(9)
  counter.add()
  counter.add()
  counter.dropWaiting()
  t.equal(counter.dropped, 2)
  counter.dropWaiting()
  t.equal(counter.dropped, 2)
})
