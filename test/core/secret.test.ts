import { inspect } from 'node:util'
import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'

t.test('a secret is revealed only on request', async t => {
  const secret = new Secret('sk-1234')
  t.equal(secret.reveal(), 'sk-1234')
  const shown = [
    String(secret),
    JSON.stringify({ secret }),
    inspect({ secret }),
    inspect(secret, { showHidden: true }),
    Object.values(secret).join()
  ]
  t.strictSame(shown, ['[redacted]', '{"secret":"[redacted]"}', '{ secret: [redacted] }', '[redacted]', ''])
  const named = new Secret('sk-1234', 'OPENAI_API_KEY')
  t.equal(named.source, 'OPENAI_API_KEY')
  t.equal(JSON.stringify({ named }), '{"named":"[redacted]"}')
})
