import { PassThrough, Readable, Writable } from 'node:stream'
import t from 'tap'
import { printStream } from '../../lib/process/print-stream.ts'
import { until } from '../support/until.ts'

interface Source { taken: number, returned: boolean }

/** Yields endless pieces. */
async function * endless (source: Source): AsyncGenerator<string> {
  try {
    for (;;) {
      source.taken++
      yield 'x'.repeat(1000)
    }
  } finally {
    source.returned = true
  }
}

t.test('the source is read as fast as the output is', async t => {
  const source = { taken: 0, returned: false }
  const output = new PassThrough({ highWaterMark: 10_000 })
  const printed = printStream(endless(source), output)
  await until(() => output.writableNeedDrain, 'the output to be full')
  const before = source.taken
  await new Promise(resolve => { setImmediate(resolve) })
  t.equal(source.taken, before)
  while (output.read() !== null) { /* to its end: Node.js 26 reads one piece at a time */ }
  await until(() => source.taken > before, 'more')
  output.destroy()
  await printed
  t.ok(source.returned)
})

t.test('a closed output ends the source; other failures are thrown', async t => {
  const failing = (code: string) =>
    new Writable({
      write: (_, __, done) => {
        done(Object.assign(new Error('failed'), { code }))
      }
    })
  const source = { taken: 0, returned: false }
  await printStream(endless(source), failing('EPIPE'))
  t.ok(source.returned)
  await t.rejects(printStream(endless(source), failing('ENOSPC')), { code: 'ENOSPC' })
})

t.test('records on a terminal cannot control it, and a file has them unchanged', async t => {
  const record = 'a,"b\u001b[2J"\r\n'
  const printed = async (isTTY: boolean): Promise<unknown> => {
    const output = Object.assign(new PassThrough(), { isTTY })
    await printStream(Readable.from([record]), output)
    return output.read()?.toString()
  }
  t.same([await printed(true), await printed(false)], ['a,"b\\u001b[2J"\r\n', record])
})
