import t from 'tap'
import { readSettings, type AppliedConfiguration } from '../../lib/config/read-settings.ts'
import { receiveConfiguration, reportReload, SharedConfiguration } from '../../lib/config/shared-configuration.ts'
import { printSettings } from '../../lib/config/print-settings.ts'
import type { IpcChannel } from '../../lib/async/ipc.ts'

/** Both ends of an IPC channel within this process. */
function ipcChannel (): { readonly primary: IpcChannel<unknown>, readonly worker: IpcChannel<unknown> } {
  const listeners: Record<'worker' | 'primary', Array<(message: unknown) => void>> = { worker: [], primary: [] }
  const end = (own: 'worker' | 'primary', other: 'worker' | 'primary'): IpcChannel<unknown> => ({
    on: (event, listener) => { if (event === 'message') listeners[own].push(listener) },
    send: message => { setImmediate(() => { for (const listener of listeners[other]) listener(JSON.parse(JSON.stringify(message))) }) }
  })
  return { primary: end('worker', 'primary'), worker: end('primary', 'worker') }
}

function configurationOf (text: string): AppliedConfiguration {
  const { warnings: _, ...configuration } = readSettings({ env: { K: 'secret' }, cwd: '/', text })
  return configuration
}

t.test('a new worker gets the configuration of the start, and the last one that a worker has taken over', async t => {
  const started = configurationOf('keys: [{name: a, key: env:K}]')
  const shared = new SharedConfiguration(started)
  const first = ipcChannel()
  shared.join(first.worker)
  const received = receiveConfiguration(first.primary)
  t.same(await received, { started, current: started })
  t.equal(printSettings(await received), printSettings({ started, current: started }), 'with its secrets')

  const current = configurationOf('keys: [{name: b, key: env:K}]')
  const second = ipcChannel()
  reportReload(first.primary, current)
  shared.join(second.worker)
  t.equal(printSettings(await receiveConfiguration(second.primary)), printSettings({ started, current }))
})
