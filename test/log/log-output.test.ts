import t, { type Test } from 'tap'
import { LogOutput } from '../../lib/log/log-output.ts'
import { until } from '../support/until.ts'

/**
 * Writes as it is said: so many bytes, all of them by default, or an error with that code, or `never`; and
 * notes the attempts.
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

t.test('lines are written together, those of a write that was cut to their end', async t => {
  const { output, attempts, written } = outputOf(t, 3)
  output.write('one\n')
  output.write('two\n')
  t.same(attempts, [])
  await flushed(output)
  t.same(attempts, ['one\ntwo\n', '\ntwo\n'])
  t.equal(written(), 'one\ntwo\n')
  await flushed(output)
})

t.test('lines wait no longer than a moment, and while others are written', async t => {
  const { output, attempts, written } = outputOf(t)
  output.write('a'.repeat(40_000))
  output.write('b'.repeat(40_000))
  output.write('c')
  await until(() => written().endsWith('c'), 'the last line')
  t.equal(attempts.length, 3)
  t.equal(written().slice(-2), 'bc')
})

t.test('once its destination is gone no line is written any more', async t => {
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

t.test('an exit writes what is left once; where that fails it does not wait', async t => {
  for (const code of ['EIO', 'EPIPE', 'EBADF', 'ENOSPC']) {
    const { output, attempts } = outputOf(t, code)
    output.write('one\n')
    output.writeBeforeExit()
    output.writeBeforeExit()
    t.same(attempts, ['one\n'], code)
  }
})

t.test('what cannot be written yet is written later', async t => {
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

t.test('lines that nothing reads are dropped beyond a limit, and at an exit', async t => {
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
