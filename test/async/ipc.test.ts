import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import t from 'tap'
import { ignoreClosedChannel, sendMessage, type IpcChannel } from '../../lib/async/ipc.ts'

function processWith (connected?: boolean): { sent: string[], other: IpcChannel<string> } {
  const sent: string[] = []
  const other = {
    on: () => undefined,
    // Like `process.send`: a failure is thrown unless a callback is given.
    send: (message: string, done: unknown) => {
      if (typeof done !== 'function') throw new Error('uncaught')
      sent.push(message)
    }
  }
  return { sent, other: connected === undefined ? other : { ...other, connected } }
}

t.test('a message is sent with a callback, so that a failure is not thrown', async t => {
  for (const connected of [true, undefined]) {
    const { sent, other } = processWith(connected)
    sendMessage(other, 'hello')
    t.same(sent, ['hello'])
  }
})

t.test('nothing is sent to a process that has exited, or from one without an IPC channel', async t => {
  const { sent, other } = processWith(false)
  sendMessage(other, 'hello')
  t.same(sent, [])
  t.doesNotThrow(() => sendMessage({ send: undefined }, 'hello'))
})

t.test(
  'sending to an exited process without a callback causes no uncaught error',
  async t => {
    const child = spawn(process.execPath, ['-e', ''], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    ignoreClosedChannel(child)
    await once(child, 'close')
    const error = once(child, 'error')
    child.send('hello')
    t.match(await error, [{ code: 'ERR_IPC_CHANNEL_CLOSED' }])
  }
)

t.test('other errors of a child process are thrown', async t => {
  const child = new EventEmitter()
  ignoreClosedChannel(child)
  for (const error of [
    Object.assign(new Error('not started'), { code: 'EAGAIN' }),
    new Error('without a code')
  ]) {
    t.throws(() => child.emit('error', error), error)
  }
  for (const code of ['EPIPE', 'ECONNRESET']) {
    t.doesNotThrow(() => child.emit('error', Object.assign(new Error(code), { code })))
  }
})
