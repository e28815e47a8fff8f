import { EventEmitter } from 'node:events'
import t from 'tap'
import { allowListening, waitToListen } from '../../lib/process/wait-to-listen.ts'

type Message = Parameters<NonNullable<Parameters<typeof waitToListen>[0]['send']>>[0]

/** Both ends of an IPC channel: each receives what the other sends. */
function ipcPair () {
  const [worker, primary] = [new EventEmitter(), new EventEmitter()]
  const end = (own: EventEmitter, other: EventEmitter) =>
    Object.assign(own, { send: (message: Message) => other.emit('message', message), connected: true })
  return { worker: end(worker, primary), primary: end(primary, worker) }
}

t.test('a worker gets the port of the gateway, or none if its configured port applies', async t => {
  for (const port of [4711, undefined]) {
    const { worker, primary } = ipcPair()
    let freed = 0
    allowListening(worker, () => { freed++; return port })
    worker.emit('message', { limits: 'settle' })
    t.equal(await waitToListen(primary), port)
    t.equal(freed, 1)
  }
})

t.test('a worker without a primary does not wait', async t => {
  const { primary } = ipcPair()
  const waiting = waitToListen(primary)
  primary.emit('disconnect')
  t.equal(await waiting, undefined)
})
