/** The text of an empty page: what belongs here, and what to do next. */

import type { ComponentChildren, JSX } from 'preact'
import { Icon, type IconName } from './icon.tsx'

export interface EmptyProps {
  readonly icon: IconName
  readonly title: string
  readonly children?: ComponentChildren
  readonly actions?: ComponentChildren
}

export function Empty ({ icon, title, children, actions }: EmptyProps): JSX.Element {
  return (
    <div class='empty'>
      <Icon name={icon} size={24} />
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {actions !== undefined && <div class='row'>{actions}</div>}
    </div>
  )
}
