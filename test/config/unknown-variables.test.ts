import t from 'tap'
import { formatWarnings } from '../../lib/config/problems.ts'
import { readSettings } from '../../lib/config/read-settings.ts'
import { variables } from '../../lib/config/environment.ts'
import { directory, type Env } from '../support/config.ts'

/** Returns the printed warnings about variables. */
function warned (env: Env, cwd: string): string[] {
  return formatWarnings(readSettings({ env, cwd }).warnings)
}

t.test(
  "unknown variables that look like the gateway's own are reported with a suggestion",
  async t => {
    const cwd = directory(t, { '.env': 'HEADGATE_LOGLEVEL=warn\n' })
    t.strictSame(
      warned(
        {
          HEADGATE_PORT: '9090',
          HEADGATE_OPENAI_API_KEY: 'secret',
          HEADGATE_COLOUR: 'red',
          HEADGATE_NOTHING: ' '
        },
        cwd
      ).toSorted(),
      [
        'environment  HEADGATE_COLOUR  warning: unknown variable',
        'environment  HEADGATE_LOGLEVEL  warning: unknown variable; did you mean HEADGATE_LOG_LEVEL?',
        'environment  HEADGATE_OPENAI_API_KEY  warning: unknown variable; did you mean OPENAI_API_KEY?',
        'environment  HEADGATE_PORT  warning: unknown variable; did you mean PORT?'
      ]
    )
  }
)

t.test(
  'there is no warning for a variable that is read, referenced, or used by clients, tests or Kubernetes',
  async t => {
    const yaml =
      'keys:\n  - { name: a, key: env:HEADGATE_OWN_KEY }\nproviders:\n  openai: { enabled: false, api_keys: [env:HEADGATE_OTHER] }\n'
    const cwd = directory(t, { 'headgate.yaml': yaml })
    const own = Object.fromEntries(
      variables.filter(name => name.startsWith('HEADGATE_')).map(name => [name, ''])
    ) satisfies Env
    const ofServices = {
      HEADGATE_SERVICE_HOST: '10.0.0.1',
      HEADGATE_SERVICE_PORT_HTTP: '80',
      HEADGATE_PORT: 'tcp://10.0.0.1:80',
      HEADGATE_PORT_80_TCP_ADDR: '10.0.0.1',
      HEADGATE_REDIS_SERVICE_PORT: '1'
    }
    const others = {
      HEADGATE_API_KEY: 'hg_a',
      HEADGATE_TEST_REDIS: 'a',
      HEADGATE_OWN_KEY: 'a'.repeat(24),
      HEADGATE_OTHER: 'b',
      HEAD: 'c'
    }
    t.strictSame(
      warned({ ...own, HEADGATE_WORKERS: '1', HEADGATE_SANDBOX: 'on', ...others, ...ofServices }, cwd),
      []
    )
    t.equal(warned({ ...others, HEADGATE_OWN: 'd' }, cwd).length, 1)
  }
)
