/** Shows which models a message would try, in which order and why; nothing is sent to a provider. */

import type { Static } from 'typebox'
import type { JSX } from 'preact'
import type { RouteDecision } from '../../../../schemas/route-decision.ts'
import { exactDollars } from '../format/numbers.ts'
import { Clip } from '../parts/clip.tsx'
import { Badge } from '../parts/badge.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import { useResource } from '../state/resource.ts'
import { call } from './call.ts'
import { panes, type Pane } from './conversation.ts'
import { chatBody } from './request.ts'

const tones = { ready: 'good', rate_limited: 'warn', circuit_open: 'bad', unsuitable: 'neutral' } as const

export function RouteDialog ({ onClose }: { readonly onClose: () => void }): JSX.Element {
  return (
    <Dialog title='Route' subtitle='What the gateway would try now, and why.' onClose={onClose} wide>
      {panes.value.map(pane => <Decision key={pane.id} pane={pane} />)}
    </Dialog>
  )
}

function Decision ({ pane }: { readonly pane: Pane }): JSX.Element {
  const { data, error } = useResource(pane.model.value, async signal => {
    const body = chatBody(pane, pane.turns.value.length === 0 ? 'Hello' : '', [])
    const response = await call('/v1/chat/completions', {
      body,
      signal,
      headers: { 'x-headgate-dry-run': 'true' }
    })
    return (await response.json()) as Static<typeof RouteDecision>
  })
  return (
    <section class='stack tight'>
      <h3 class='mono'>{pane.model.value === '' ? 'No model chosen' : pane.model.value}</h3>
      <Failure error={error} />
      {error === undefined && (
        <Table
          label={`Route of ${pane.model.value}`}
          compact
          rows={data?.candidates}
          id={({ rank }) => String(rank)}
          empty={null}
          columns={[
            { title: '#', number: true, cell: ({ rank }) => rank },
            {
              title: 'Model',
              flexible: true,
              cell: ({ model, provider }) => (
                <>
                  <Clip>{model}</Clip>
                  <Clip kind='sub'>{provider}</Clip>
                </>
              )
            },
            {
              title: 'State',
              cell: ({ state }) => <Badge tone={tones[state]}>{state.replaceAll('_', ' ')}</Badge>
            },
            {
              title: 'Reason',
              cell: ({ reason, score }) => (
                <>
                  {reason.replaceAll('_', ' ')}
                  {score !== undefined && <span class='sub'>score {score.toFixed(2)}</span>}
                </>
              )
            },
            {
              title: 'Expected cost',
              number: true,
              cell: ({ expected_cost_usd }) =>
                expected_cost_usd === undefined ? '–' : exactDollars(expected_cost_usd)
            }
          ]}
        />
      )}
      {data?.stages !== undefined && (
        <p class='small muted'>
          {data.stages.length === 0
            ? 'No guard would inspect it.'
            : `Guards: ${data.stages.map(({ name }) => name).join(', ')}`}
        </p>
      )}
    </section>
  )
}
