/** The layout of a single request: its fields on the left, its result on the right. */

import type { ComponentChildren, JSX } from 'preact'
import type { Action } from '../state/action.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { Empty } from '../parts/empty.tsx'
import type { IconName } from '../parts/icon.tsx'
import { Failure } from '../parts/notice.tsx'
import { SkeletonBlock } from '../parts/skeleton.tsx'

export interface TrialProps {
  readonly action: Action
  readonly button: string
  readonly ready: boolean
  readonly onSubmit: () => Promise<void>
  readonly fields: ComponentChildren
  /** Absent while there is none. */
  readonly result: ComponentChildren
  readonly icon: IconName
  /** Describes the result to expect. */
  readonly empty: string
}

export function Trial ({
  action: { run, busy, error },
  button,
  ready,
  onSubmit,
  fields,
  result,
  icon,
  empty
}: TrialProps): JSX.Element {
  return (
    <div class='trial'>
      <Card>
        <form
          class='stack'
          onSubmit={event => {
            event.preventDefault()
            if (ready) void run(onSubmit)
          }}
        >
          {fields}
          <div class='row'>
            <Button kind='primary' type='submit' busy={busy} disabled={!ready}>
              {button}
            </Button>
          </div>
        </form>
      </Card>
      <Card title='Result'>
        <div class='stack' aria-live='polite'>
          <Failure error={error} />
          {result ?? (busy ? <SkeletonBlock /> : error === undefined && <Empty icon={icon} title={empty} />)}
        </div>
      </Card>
    </div>
  )
}
