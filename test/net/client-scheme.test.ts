import t from 'tap'
import { clientScheme } from '../../lib/net/client-scheme.ts'

t.test('the scheme is that of the connection, or the one a trusted proxy reports', t => {
  for (const [encrypted, forwarded, trusts, expected] of [
    [false, undefined, false, 'http'],
    [true, undefined, false, 'https'],
    [false, 'https', false, 'http'],
    [false, 'https', true, 'https'],
    [false, ' https, http', true, 'https'],
    [false, 'http, https', true, 'http'],
    [false, undefined, true, 'http'],
    [true, 'http', true, 'https']
  ] as const) {
    t.equal(clientScheme(encrypted, forwarded, trusts), expected, `${encrypted} ${forwarded} ${trusts}`)
  }
  t.end()
})
