import t from 'tap'
import { FairSemaphore } from '../../lib/async/fair-semaphore.ts'

const patient = new AbortController().signal

/** Work that says when it begins, and ends on command. */
function work (semaphore: FairSemaphore) {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  return {
    begun,
    send: async (name: string, signal = patient): Promise<void> =>
      await semaphore.run(
        name.charAt(0),
        async () => {
          begun.push(name)
          await new Promise<void>(resolve => {
            ends.set(name, resolve)
          })
        },
        signal
      ),
    end: async (name: string): Promise<void> => {
      ends.get(name)?.()
      await new Promise(setImmediate)
    }
  }
}

t.test('as much goes through at once as there are places, in order', async t => {
  const { begun, send, end } = work(new FairSemaphore(2))
  const sent = ['a1', 'a2', 'a3', 'a4'].map(async name => await send(name))
  await new Promise(setImmediate)
  t.same(begun, ['a1', 'a2'], 'one who is alone has all of them')
  await end('a2')
  t.same(begun, ['a1', 'a2', 'a3'])
  await end('a1')
  await end('a3')
  await end('a4')
  await Promise.all(sent)
})

t.test('no owner gets a second place while another waits for the first, and all get theirs', async t => {
  const { begun, send, end } = work(new FairSemaphore(2))
  const sent = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map(async name => await send(name))
  const fair = ['a1', 'a2', 'b1', 'a3', 'c1', 'b2', 'a4']
  for (const name of fair) {
    await new Promise(setImmediate)
    await end(name)
  }
  await Promise.all(sent)
  t.same(begun, fair)
})

t.test(
  'work that is aborted while it waits does not run, and work that fails releases its place',
  async t => {
    const semaphore = new FairSemaphore(1)
    const { begun, send, end } = work(semaphore)
    const leaving = new AbortController()
    const first = send('a1')
    const gone = send('b1', leaving.signal)
    leaving.abort(new Error('gone'))
    await t.rejects(gone, /gone/)
    await t.rejects(send('b2', leaving.signal), /gone/, 'before it came')
    await end('a1')
    await first
    await t.rejects(
      semaphore.run('a', async () => await Promise.reject(new Error('failed')), patient),
      /failed/
    )
    const last = send('a2')
    await new Promise(setImmediate)
    await end('a2')
    await last
    t.same(begun, ['a1', 'a2'])
  }
)
