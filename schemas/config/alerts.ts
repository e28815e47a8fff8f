/** `alerts` of `headgate.yaml`: events to report, and the channels to report them to. */

import { Type } from 'typebox'
import { OneOf } from '../nullable.ts'
import { Closed, Count, HttpUrl, Named, Section, Text } from './entries.ts'
import { Headers, Secret } from './secret.ts'

export const alertEventNames = [
  'budget.threshold',
  'spending.unusual',
  'errors.high',
  'errors.normal',
  'provider.down',
  'provider.up',
  'key.expiring',
  'store.away',
  'store.back',
  'coordination.away',
  'coordination.back',
  'export.failing',
  'export.working'
] as const
export type AlertEvent = typeof alertEventNames[number]

const Events = Type.Array(OneOf([...alertEventNames]), {
  default: [...alertEventNames],
  minItems: 1,
  description: 'The events that are sent to it. Default: all.'
})

const channelName = {
  pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
  patternErrorMessage: 'a name is up to 64 lower-case letters, digits, `_` and `-`'
}

const WebhookConfig = Closed({
  url: HttpUrl('Where alerts are posted.'),
  secret: Secret('Signs alerts, as Standard Webhooks says: `whsec_` and a key in base64.'),
  headers: Headers('Sent with every alert.'),
  events: Events
}, { description: 'A service that alerts are posted to.' })

const address = {
  pattern: '^[^\\s@<>",;]+@[^\\s@<>",;]+$',
  patternErrorMessage: 'must be an address such as ops@example.com'
}

const EmailConfig = Closed({
  server: Type.String({
    pattern: '^smtps?://[^\\s/?#@]+$',
    patternErrorMessage: 'must be smtp://host:port or smtps://host:port',
    description:
      'The email server. `smtps://` uses implicit TLS, port 465 by default; `smtp://` starts unencrypted, ' +
      'port 587 by default.'
  }),
  require_tls: Type.Boolean({
    default: true,
    description: 'Of `smtp://`: send nothing unless the server offers STARTTLS.'
  }),
  user: Type.Optional(Text('The user at the email server. Default: no sign-in.')),
  password: Type.Optional(Secret('The password of that user.')),
  from: Type.String({ ...address, description: 'The sender.' }),
  to: Type.Array(Type.String(address), { minItems: 1, maxItems: 50, description: 'The recipients.' }),
  events: Events
}, { description: 'Emails to one list of recipients.' })

export const AlertsConfig = Section(
  {
    webhooks: Named(
      WebhookConfig,
      'Services that alerts are posted to, each under a name of your choice, in the format of Standard ' +
      'Webhooks.',
      channelName
    ),
    emails: Named(
      EmailConfig,
      'Email channels for alerts, each under a name of your choice. Needs the package `nodemailer`.',
      channelName
    ),
    error_percent: Count(
      20,
      'Percentage of the calls of the last five minutes that may fail before `errors.high` is sent. ' +
        'Checked only if there are at least 20 calls.',
      100
    ),
    key_expiry_days: Count(7, 'How many days before a key expires `key.expiring` is sent.', 365)
  },
  'Alerts, each sent once for all gateways on one store. Default: none.'
)
