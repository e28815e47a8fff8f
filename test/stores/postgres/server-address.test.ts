import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { checkNamedFiles, serverAddress } from '../../../lib/stores/postgres/server-address.ts'

t.test(
  'the name has no user, password or options, and only a remote address needs TLS',
  async t => {
    t.same(serverAddress('postgres://user:secret@db.example:5433/litellm?schema=x'), {
      name: 'postgres://db.example:5433/litellm',
      needsTls: true
    })
    for (const url of [
      'postgresql://localhost/x',
      'postgres://127.0.0.1/x',
      'postgres://[::1]/x',
      'postgres:///x?host=/run',
      'postgres://db.example/x?sslmode=disable'
    ]) {
      t.equal(serverAddress(url)?.needsTls, false, url)
    }
    for (const text of ['', 'mysql://a/b', 'postgres', 'postgres://[']) {
      t.equal(serverAddress(text), undefined, text)
    }
  }
)

t.test('an unreadable certificate or key file is reported, and a pipe is not waited for', async t => {
  const directory = t.testdir({ 'ca.pem': 'certificate' })
  execFileSync('mkfifo', [join(directory, 'pipe')])
  const check = (query: string): void => checkNamedFiles(`postgres://db.example/x?${query}`)
  t.doesNotThrow(() => check(`sslmode=verify-full&sslrootcert=${directory}/ca.pem`))
  for (const option of ['sslrootcert', 'sslcert', 'sslkey']) {
    t.throws(
      () => check(`${option}=${directory}/pipe`),
      { message: `\`${option}\` names a file that cannot be read (not a regular file)` }
    )
    t.throws(() => check(`${option}=${directory}/gone`), { message: /ENOENT/ })
  }
})
