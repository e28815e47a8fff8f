import t from 'tap'
import { serverAddress } from '../../../lib/stores/postgres/server-address.ts'

t.test(
  'the name has no user, password and options, and only an address that leaves the machine needs TLS',
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
