import { join } from 'node:path'
import t from 'tap'
import { createLog } from '../../lib/log/log.ts'
import { warnOfCertificates } from '../../lib/process/check-certificates.ts'
import { certificateFor, noOpenSsl } from '../support/certificate.ts'

t.test(
  'certificates that expire within 30 days are logged at startup, and others are not',
  { skip: noOpenSsl },
  async t => {
    const directory = t.testdir({})
    for (const [days, logged] of [
      [10, true],
      [29, true],
      [40, false]
    ] as const) {
      const certificate = join(directory, `${days}.pem`)
      certificateFor(certificate, days)
      const lines: string[] = []
      warnOfCertificates(
        { server: { tls: { certificate } }, providers: [] },
        createLog('info', {
          write: line => {
            lines.push(line)
          }
        })
      )
      t.match(
        lines.map(line => JSON.parse(line)),
        logged
          ? [{ level: 'warn', certificate: 'server.tls', expires_at: /Z$/, msg: 'certificate expires soon' }]
          : [],
        String(days)
      )
      t.equal(lines.length, Number(logged))
    }
  }
)
