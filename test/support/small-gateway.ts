/** A gateway as a separate process, for tests of what it survives: sends its address over IPC. */

import { createGateway } from '../../lib/gateway.ts'
import { createLog } from '../../lib/log/log.ts'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { testKey } from './gateway.ts'

/** The address of a provider, `upstream`, beside the sandbox and local tool servers. Default: none. */
const [, , upstream] = process.argv
const config =
  upstream === undefined
    ? {}
    : {
        // A busy machine may be slow to list and call.
        tools: { allowed_hosts: ['127.0.0.1'], connect_ms: 120_000, call_ms: 120_000 },
        providers: {
          upstream: { kind: 'openai', base_url: upstream, api_key: 'env:UPSTREAM_KEY', list_models: false },
          sandbox: { enabled: true }
        }
      }
const defaults = loadSettings({ env: { UPSTREAM_KEY: 'sk-test' }, cwd: '/nowhere', config })
const gateway = await createGateway(
  { ...defaults, server: { ...defaults.server, port: 0 } },
  {
    keys: { check: key => (key === testKey ? { id: 'key-1', name: 'test' } : undefined) },
    log: createLog('silent', { write: () => undefined })
  }
)
const { port } = await gateway.listen()
process.once('disconnect', () => process.exit())
process.send?.(`http://127.0.0.1:${port}`)
