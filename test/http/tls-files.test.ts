import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { createHttpServer } from '../../lib/http/create-server.ts'
import { listen } from '../../lib/http/listen.ts'
import { checkTlsFiles } from '../../lib/process/check-certificates.ts'
import { makeCertificate, noOpenSsl } from '../support/certificate.ts'
import { until } from '../support/until.ts'

/** Connects, and returns the name in the server's certificate. */
async function nameAt (port: number): Promise<string | undefined> {
  const socket: TLSSocket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

async function serve (t: Test, directory: string) {
  const outcomes: string[] = []
  const note = (outcome: string) => () => { outcomes.push(outcome) }
  const paths = makeCertificate(directory, 'first')
  const { server, close } = await createHttpServer(
    {},
    (_, response) => {
      response.end('here')
    },
    { ...paths, onReload: note('reloaded'), onFailure: note('failed'), everyMs: 20 }
  )
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 })
  t.teardown(() => { close(); server.close().closeAllConnections() })
  return { paths, port, last: () => outcomes.at(-1) }
}

t.test(
  'a renewed certificate is used for new connections; an unusable one is ignored',
  { skip: noOpenSsl },
  async t => {
    const directory = t.testdir({})
    const { paths, port, last } = await serve(t, directory)
    t.equal(await nameAt(port), 'first')
    makeCertificate(directory, 'second')
    await until(() => last() === 'reloaded', 'the second certificate')
    t.equal(await nameAt(port), 'second')
    writeFileSync(paths.certificate, 'not a certificate')
    await until(() => last() === 'failed', 'the refusal of the third')
    t.equal(await nameAt(port), 'second')
  }
)

t.test('a certificate without its key is refused at startup', { skip: noOpenSsl }, async t => {
  const directory = t.testdir({ a: {}, b: {} })
  const [one, other] = [makeCertificate(join(directory, 'a')), makeCertificate(join(directory, 'b'))]
  const tls = { onReload: () => undefined, onFailure: () => undefined }
  await t.rejects(
    createHttpServer({}, () => undefined, { ...tls, certificate: one.certificate, key: other.key })
  )
  await t.rejects(
    createHttpServer({}, () => undefined, { ...tls, certificate: one.certificate, key: `${one.key}x` }),
    { message: `the key ${one.key}x cannot be read (ENOENT)` }
  )
  await t.rejects(checkTlsFiles({ tls: { certificate: one.certificate, key: other.key } }), {
    message: /^cannot serve HTTPS with server\.tls: the key .* does not belong to the certificate \(.*mismatch/
  })
  await t.resolves(checkTlsFiles({ tls: one }))
})
