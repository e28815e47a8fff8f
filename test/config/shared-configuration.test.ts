import t from 'tap'
import { readSettings, type AppliedConfiguration } from '../../lib/config/read-settings.ts'
import {
  receiveConfiguration,
  reportReload,
  SharedConfiguration
} from '../../lib/config/shared-configuration.ts'
import { printSettings } from '../../lib/config/print-settings.ts'
import { until } from '../support/until.ts'
import type { IpcChannel } from '../../lib/async/ipc.ts'

/** Both ends of an IPC channel within this process. */
function ipcChannel (): { readonly primary: IpcChannel<unknown>, readonly worker: IpcChannel<unknown> } {
  const listeners: Record<'worker' | 'primary', Array<(message: unknown) => void>> = {
    worker: [],
    primary: []
  }
  const end = (own: 'worker' | 'primary', other: 'worker' | 'primary'): IpcChannel<unknown> => ({
    on: (event, listener) => {
      if (event === 'message') listeners[own].push(listener)
    },
    send: message => {
      setImmediate(() => {
        for (const listener of listeners[other]) listener(JSON.parse(JSON.stringify(message)))
      })
    }
  })
  return { primary: end('worker', 'primary'), worker: end('primary', 'worker') }
}

const never = (other: string): void => { throw new Error(`taken for another version: ${other}`) }

function configurationOf (text: string): AppliedConfiguration {
  const { warnings: _, ...configuration } = readSettings({ env: { K: 'secret' }, cwd: '/', text })
  return configuration
}

t.test(
  'a new worker gets the initial configuration, and the latest that any worker has adopted',
  async t => {
    const started = configurationOf('keys: [{name: a, key: env:K}]')
    const shared = new SharedConfiguration(started)
    const first = ipcChannel()
    shared.join(first.worker, never)
    const received = receiveConfiguration(first.primary)
    t.same(await received, { started, current: started })
    t.equal(printSettings(await received), printSettings({ started, current: started }), 'with its secrets')

  const current = configurationOf('keys: [{name: b, key: env:K}]')
  const second = ipcChannel()
  reportReload(first.primary, current)
  shared.join(second.worker, never)
  t.equal(printSettings(await receiveConfiguration(second.primary)), printSettings({ started, current }))
})

t.test('a worker and a primary of different versions ignore each other', async t => {
  const shared = new SharedConfiguration(configurationOf('keys: [{name: a, key: env:K}]'))
  for (const [version, said] of [['0.0.1', '0.0.1'], [undefined, 'an earlier one']] as const) {
    const { primary, worker } = ipcChannel()
    const heard: string[] = []
    const received: unknown[] = []
    primary.on('message', message => received.push(message))
    shared.join(worker, other => heard.push(other))
    primary.send?.({ configuration: 'request', version }, () => {})
    await until(() => heard.length > 0, 'the primary to notice')
    t.same(heard, [said])
    t.same(received, [], 'it sends no configuration')

    const other = ipcChannel()
    other.worker.on('message', () =>
      other.worker.send?.({ configuration: 'start', version, started: 'unreadable' }, () => {})
    )
    await t.rejects(receiveConfiguration(other.primary), {
      name: 'OtherVersionError',
      message: `its primary process ${said}: restart the gateway`
    })
  }
})
