/** Alerts: the log of deliveries, and a test message. */

import { GatewayError } from '../../lib/core/errors.ts'
import { pageRequest } from '../../lib/stores/pages.ts'
import { actorOf, audit, notFound } from './acts.ts'
import type { Services } from '../../lib/services.ts'
import type { AdminHandlers } from './handler.ts'

export const alertHandlers: AdminHandlers<
  'GET /admin/v1/alerts' | 'GET /admin/v1/alerts/channels' | 'POST /admin/v1/alerts/test'
> = {
  'GET /admin/v1/alerts': async ({ search }, services) =>
    await alertsOf(services).list(search.get('event') ?? undefined, pageRequest(search)),

  'GET /admin/v1/alerts/channels': async (_call, { alerts }) => ({
    object: 'list',
    data: [...alerts?.channels ?? []].map(([channel, { target, events }]) => (
      { channel, target, events: [...events] }
    ))
  }),

  'POST /admin/v1/alerts/test': async (call, services) => {
    const { channel } = call.request
    const delivery = await alertsOf(services).test(channel, actorOf(call).name)
    if (delivery === undefined) throw notFound('channel', 'channel of alerts')
    await audit(call, { action: 'alert.test', subject: { id: channel }, after: { state: delivery.state } })
    return delivery
  }
}

/** @throws GatewayError `not_found` if the configuration has no channel of this name */
function alertsOf ({ alerts }: Services): NonNullable<Services['alerts']> {
  if (alerts !== undefined) return alerts
  throw new GatewayError('not_found', {
    message: 'The configuration has no channel for alerts: add one to `alerts.webhooks` or `alerts.emails`.'
  })
}
