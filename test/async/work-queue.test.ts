import t from 'tap'
import { WorkQueue } from '../../lib/async/work-queue.ts'

const patient = new AbortController().signal

/** Work that records its start and ends on command. */
function work (queue: WorkQueue) {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  return {
    begun,
    send: async (name: string, signal = patient): Promise<void> =>
      await queue.run(
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

t.test('as many run at once as there are places, in order of arrival', async t => {
  const { begun, send, end } = work(new WorkQueue(2))
  const sent = ['a1', 'a2', 'a3', 'a4'].map(async name => await send(name))
  await new Promise(setImmediate)
  t.same(begun, ['a1', 'a2'], 'a single owner may use all places')
  await end('a2')
  t.same(begun, ['a1', 'a2', 'a3'])
  await end('a1')
  await end('a3')
  await end('a4')
  await Promise.all(sent)
})

t.test('no owner gets a second place while another waits for its first', async t => {
  const { begun, send, end } = work(new WorkQueue(2))
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
  'work aborted while waiting does not run, and work that fails releases its place',
  async t => {
    const queue = new WorkQueue(1)
    const { begun, send, end } = work(queue)
    const leaving = new AbortController()
    const first = send('a1')
    const gone = send('b1', leaving.signal)
    leaving.abort(new Error('gone'))
    await t.rejects(gone, /gone/)
    await t.rejects(send('b2', leaving.signal), /gone/, 'aborted before it was queued')
    await end('a1')
    await first
    await t.rejects(
      queue.run('a', async () => await Promise.reject(new Error('failed')), patient),
      /failed/
    )
    const last = send('a2')
    await new Promise(setImmediate)
    await end('a2')
    await last
    t.same(begun, ['a1', 'a2'])
  }
)
