import t from 'tap'
import { digest, SealedTickets } from '../../lib/deferred/sealed-tickets.ts'

const tickets = new SealedTickets(Buffer.alloc(32, 1))
const ticket = {
  key: 'key-1',
  createdSeconds: 7,
  modelId: 'xai/grok',
  upstream: { providerId: 'xai', model: 'grok', upstreamId: 'canary', credential: 'd', legacy: false }
}

t.test('a ticket can be opened, and looks different each time', async t => {
  const ids = [tickets.seal(ticket), tickets.seal(ticket)]
  t.not(ids[0], ids[1])
  for (const id of ids) {
    t.match(id, /^dfr_[\w-]+$/)
    t.strictSame(tickets.open(id), ticket)
    t.notMatch(Buffer.from(id.slice(4), 'base64url').toString('latin1'), 'canary')
  }
})

t.test('an id does not open with another secret, or with any character changed', async t => {
  const id = tickets.seal(ticket)
  t.equal(new SealedTickets(Buffer.alloc(32, 2)).open(id), undefined)
  for (let at = 0; at < id.length; at++) {
    const changed = id.slice(0, at) + (id[at] === 'A' ? 'B' : 'A') + id.slice(at + 1)
    t.equal(tickets.open(changed), undefined, `at ${at}`)
  }
})

t.test('other encodings of the same bytes, and any other text, are not valid ids', async t => {
  const id = tickets.seal(ticket)
  for (const text of [
    `${id}=`,
    `${id} `,
    id.slice(0, -1),
    id.slice(4),
    '',
    'dfr_',
    'dfr_AAAA',
    `dfr_${'A'.repeat(40)}`,
    'chatcmpl-1'
  ]) {
    t.equal(tickets.open(text), undefined, text)
  }
})

t.test('a digest is SHA-256', async t => {
  t.equal(digest(''), '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU')
})
