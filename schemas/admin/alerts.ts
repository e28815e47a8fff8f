/** Alerts, the outcome of their deliveries, and their channels. */

import { Type, type Static } from 'typebox'
import { alertEventNames } from '../config/alerts.ts'
import { OneOf } from '../nullable.ts'
import { Id, Milliseconds, OrNull, Page, pageQuery, Request, type QueryParameter } from './common.ts'

export const deliveryStates = ['pending', 'delivered', 'failed'] as const

export const AlertDelivery = Type.Object({
  channel: Type.String({ description: '`webhooks.NAME` or `emails.NAME`.' }),
  state: OneOf([...deliveryStates], { description: '`pending` ones are tried again.' }),
  attempts: Type.Integer(),
  error: OrNull(Type.String(), 'Why the last attempt failed.'),
  next_at_ms: OrNull(Milliseconds, 'The time of the next attempt; `null`: there is none.'),
  delivered_at_ms: OrNull(Milliseconds)
})
export type AlertDelivery = Static<typeof AlertDelivery>

export const Alert = Type.Object({
  id: Type.String({ description: 'The `webhook-id`, the same in every attempt and from every gateway.' }),
  event: OneOf([...alertEventNames, 'test']),
  at_ms: Milliseconds,
  message: Type.String(),
  data: Type.Unsafe<Record<string, unknown>>({ type: 'object', description: 'Facts, by event.' }),
  deliveries: Type.Array(AlertDelivery)
})
export type Alert = Static<typeof Alert>

export const AlertPage = Page(Alert)
export type AlertPage = Static<typeof AlertPage>

export const alertQuery = {
  event: { description: 'Only this event.', type: 'string' },
  ...pageQuery
} as const satisfies Record<string, QueryParameter>

export const AlertChannel = Type.Object({
  channel: Type.String({ description: '`webhooks.NAME` or `emails.NAME`.' }),
  target: Type.String({ description: 'The address of the service, or the recipients.' }),
  events: Type.Array(OneOf([...alertEventNames]))
})
export type AlertChannel = Static<typeof AlertChannel>

export const AlertChannelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(AlertChannel) })
export type AlertChannelList = Static<typeof AlertChannelList>

export const AlertTest = Request({ channel: Id }, 'The channel to send a test to.')
export type AlertTest = Static<typeof AlertTest>
