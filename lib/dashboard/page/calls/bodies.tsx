/** The request and the response of a call, read on request only: every access is written to the audit log. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { formatJson } from '../format/json.ts'
import { size } from '../format/numbers.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { Code } from '../parts/code.tsx'
import { Failure } from '../parts/notice.tsx'
import { SkeletonLines } from '../parts/skeleton.tsx'
import { dateTime } from '../format/time.ts'
import { projectName } from '../state/names.ts'
import { useResource } from '../state/resource.ts'
import { may } from '../state/session.ts'

type Call = Answer<'GET /admin/v1/calls/:call_id'>
type Body = Answer<'GET /admin/v1/calls/:call_id/bodies'>['request']

/** Shows nothing to users who may not read them. */
export function Bodies ({ call }: { readonly call: Call }): JSX.Element | null {
  const shown = useSignal(false)
  const { state, readable_by, expires_at_ms } = call.bodies
  if (!may(readable_by ?? 'admin')) return null
  if (state !== 'kept') {
    return (
      <Card title='Request and response'>
        <Missing call={call} />
      </Card>
    )
  }
  return (
    <Card
      title='Request and response'
      subtitle={expires_at_ms === null ? undefined : `Kept until ${dateTime(expires_at_ms)}`}
      actions={
        <Button
          onClick={() => {
            shown.value = !shown.value
          }}
        >
          {shown.value ? 'Hide' : 'Show'}
        </Button>
      }
    >
      {shown.value ? (
        <Shown id={call.id} />
      ) : (
        <p class='faint'>That you read them will be in the audit log.</p>
      )}
    </Card>
  )
}

function Missing ({
  call: {
    bodies: { state },
    project_id
  }
}: {
  readonly call: Call
}): JSX.Element {
  if (state === 'expired') return <p class='faint'>They were kept, and have expired.</p>
  if (state === 'dropped') {
    return (
      <p class='faint'>
        They were dropped: there was no memory for them when the call ended.{' '}
        <code>calls.kept_memory_bytes</code> may be more.
      </p>
    )
  }
  const entry = `calls:\n  keep_bodies:\n    - project: ${JSON.stringify(projectName(project_id))}\n      keep_ms: 604800000\n      readable_by: admin\n`
  return (
    <div class='stack tight'>
      <p class='faint'>
        They are not kept for this project. With this entry of the configuration those of later calls are,
        for a week:
      </p>
      <Code text={entry} label='configuration' />
    </div>
  )
}

function Shown ({ id }: { readonly id: string }): JSX.Element {
  const { data, error, reload } = useResource(id, signal =>
    api('GET /admin/v1/calls/:call_id/bodies', { at: { call_id: id }, signal })
  )
  if (data === undefined) {
    return error === undefined ? (
      <SkeletonLines lines={6} />
    ) : (
      <Failure error={error} retry={() => void reload()} />
    )
  }
  return (
    <div class='call-bodies'>
      <BodyText title='Request' body={data.request} />
      <BodyText title='Response' body={data.answer} />
    </div>
  )
}

function BodyText ({ title, body }: { readonly title: string, readonly body: Body }): JSX.Element {
  return (
    <div class='stack tight'>
      <div class='row'>
        <h3>{title}</h3>
        {body !== null && (
          <span class='faint'>{[body.media_type, size(body.size_bytes)].filter(Boolean).join(', ')}</span>
        )}
        {body?.redacted === true && <Badge tone='accent'>redacted</Badge>}
        {body?.truncated === true && <Badge tone='warn'>cut off</Badge>}
      </div>
      {typeof body?.text === 'string' ? (
        <Code text={formatJson(body.text)} label={title.toLowerCase()} />
      ) : (
        <p class='faint'>{body === null ? 'There is none.' : 'Of media only type and size are kept.'}</p>
      )}
    </div>
  )
}
