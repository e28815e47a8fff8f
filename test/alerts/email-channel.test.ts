import { readFileSync } from 'node:fs'
import t from 'tap'
import { alertOf } from '../../lib/alerts/alert.ts'
import { emailChannel } from '../../lib/alerts/email-channel.ts'
import { Secret } from '../../lib/core/secret.ts'
import { makeCertificate, noOpenSsl } from '../support/certificate.ts'
import { mailServer } from '../support/mail-server.ts'
import { until } from '../support/until.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Channel } from '../../lib/alerts/alert.ts'
import type { Test } from 'tap'

const alert = alertOf(
  {
    event: 'key.expiring',
    message: 'The API key böse\r\n\r\nSign in anew: expires soon.',
    data: { key: { id: 'key-1', name: 'böse\r\nBcc: x@example.com' } }
  },
  ['key-1'],
  1_763_686_800_000
)

function channelTo (
  t: Test,
  server: string,
  more: Partial<Settings['alerts']['emails'][string]> = {}
): Channel {
  const channel = emailChannel({
    server,
    requireTls: false,
    from: 'headgate@example.com',
    to: ['a@example.com', 'b@example.com'],
    events: ['key.expiring'],
    ...more
  })
  t.teardown(channel.close)
  return channel
}

const signal = (): AbortSignal => AbortSignal.timeout(5000)

t.test('every attempt sends the same message id', async t => {
  const { url, commands, messages } = await mailServer(t)
  const channel = channelTo(t, url)
  t.match(channel, { target: 'a@example.com, b@example.com', events: ['key.expiring'] })
  t.equal(await channel.send(alert, signal()), undefined)
  t.equal(await channel.send(alert, signal()), undefined)
  t.same(
    commands
      .filter(command => /^(?:MAIL|RCPT)/.test(command))
      .slice(0, 3)
      .map(command => command.split(' ', 2).join(' ')),
    ['MAIL FROM:<headgate@example.com>', 'RCPT TO:<a@example.com>', 'RCPT TO:<b@example.com>']
  )
  t.equal(messages.length, 2)
  for (const message of messages) {
    t.match(message, `Message-ID: <${alert.id}@example.com>`)
    t.match(message, /^Subject: =\?UTF-8\?Q\?/m)
    t.match(message, /^X-Headgate-Event: key\.expiring$/m)
    t.match(message, /2025-11-21T01:00:00\.000Z/)
    t.notMatch(message, /^(?:Bcc|Sign in)/m, 'a name cannot add a header or a line')
  }
})

t.test('authentication uses TLS, and nothing is sent in plain text where TLS is required', async t => {
  const clear = await mailServer(t)
  const secured = channelTo(t, clear.url, { requireTls: true, user: 'me', password: new Secret('hush') })
  await t.rejects(secured.send(alert, signal()), /STARTTLS|TLS/)
  t.notMatch(clear.commands.join('\n'), /AUTH|MAIL/)

  const signedIn = channelTo(t, clear.url, { user: 'me', password: new Secret('hush') })
  await signedIn.send(alert, signal())
  const plain = clear.commands.find(command => command.startsWith('AUTH PLAIN'))?.split(' ').at(-1) ?? ''
  t.equal(Buffer.from(plain, 'base64').toString(), '\0me\0hush')
})

t.test('an untrusted certificate is refused', { skip: noOpenSsl }, async t => {
  const { certificate, key } = makeCertificate(t.testdir())
  const server = await mailServer(t, {
    tls: { cert: readFileSync(certificate, 'utf8'), key: readFileSync(key, 'utf8') }
  })
  await t.rejects(channelTo(t, server.url).send(alert, signal()), /certificate|self.signed/i)
  t.same(server.messages, [])
})

t.test(
  'a rejection fails the attempt without revealing the password; rejected recipients are reported',
  async t => {
    const wrong = await mailServer(t, {
      answer: command => (command.startsWith('AUTH') ? '535 no' : undefined)
    })
    const signedIn = channelTo(t, wrong.url, { user: 'me', password: new Secret('hush') })
    const failure = await signedIn.send(alert, signal()).then(
      () => undefined,
      (error: Error) => error
    )
    t.match(failure?.message, /535/)
    t.notMatch(failure?.message, /hush/)
    const one = await mailServer(t, {
      answer: command => (command.startsWith('RCPT TO:<b@') ? '550 unknown' : undefined)
    })
    t.equal(await channelTo(t, one.url).send(alert, signal()), 'refused for b@example.com')
    const all = await mailServer(t, {
      answer: command => (command.startsWith('RCPT') ? '550 unknown' : undefined)
    })
    await t.rejects(channelTo(t, all.url).send(alert, signal()), /550/)
  }
)

t.test('a server that echoes credentials does not put the password into the error', async t => {
  const password = 'correct horse'
  const forms = [password, `\0me\0${password}`].map(text => Buffer.from(text).toString('base64'))
  for (const at of ['AUTH', 'MAIL']) {
    const server = await mailServer(t, {
      answer: command =>
        command.startsWith(at) ? `535 refused: ${command} ${password} ${forms.join(' ')}` : undefined
    })
    const channel = channelTo(t, server.url, { user: 'me', password: new Secret(password) })
    const { message } = await channel.send(alert, signal()).then(
      () => t.fail('nothing was refused'),
      (error: Error) => error
    ) as Error
    t.match(message, /535 refused/)
    for (const form of [password, ...forms]) t.notOk(message.includes(form), `${at}: ${form}`)
  }
})

t.test('an endless response is aborted', async t => {
  const { url } = await mailServer(t, { answer: () => '250-more\r\n'.repeat(400_000) })
  await t.rejects(channelTo(t, url).send(alert, signal()), /maximum/)
})

t.test('a server that does not respond can be aborted', async t => {
  const { url, commands } = await mailServer(t, { answer: () => '' })
  const controller = new AbortController()
  const sent = channelTo(t, url).send(alert, controller.signal)
  await until(() => commands.length > 0, 'a command')
  controller.abort(new Error('it takes too long'))
  await t.rejects(sent, { code: 'EABORT' })
  await t.rejects(channelTo(t, url).send(alert, controller.signal), { code: 'EABORT' })
})
