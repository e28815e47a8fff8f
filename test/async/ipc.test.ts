import t from 'tap'
import { sendMessage, type IpcChannel } from '../../lib/async/ipc.ts'

function processWith (connected?: boolean): { sent: string[], other: IpcChannel<string> } {
  const sent: string[] = []
  const other = {
    on: () => undefined,
    // As `process.send` does it: a failure is thrown unless there is a callback for it.
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

t.test('nothing is sent to a process that has gone, or from one without an IPC channel', async t => {
  const { sent, other } = processWith(false)
  sendMessage(other, 'hello')
  t.same(sent, [])
  t.doesNotThrow(() => sendMessage({ on: () => undefined, send: undefined }, 'hello'))
})
