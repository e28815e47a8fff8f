import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { tlsProblem } from '../../lib/net/tls-problem.ts'
import { makeCertificate, noOpenSsl } from '../support/certificate.ts'

t.test('the part that OpenSSL cannot use is named', { skip: noOpenSsl }, async t => {
  const directory = t.testdir({ a: {}, b: {} })
  const read = (name: string): { cert: Buffer, key: Buffer } => {
    const { certificate, key } = makeCertificate(join(directory, name))
    return { cert: readFileSync(certificate), key: readFileSync(key) }
  }
  const [one, other] = [read('a'), read('b')]
  t.equal(tlsProblem({}), undefined)
  t.equal(tlsProblem({ ...one, ca: other.cert }), undefined)
  t.match(tlsProblem({ ...one, ca: one.key }), { part: 'ca', message: /^is not a certificate in PEM/ })
  t.match(tlsProblem({ ...one, cert: one.key }), { part: 'cert', message: /^is not a certificate in PEM/ })
  t.match(tlsProblem({ ...one, key: one.cert }), { part: 'key', message: /^is not a private key in PEM/ })
  t.match(tlsProblem({ ...one, key: other.key }), { part: 'key', message: /^does not belong/ })
})
