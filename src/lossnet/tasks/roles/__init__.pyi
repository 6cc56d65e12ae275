from lossnet.tasks.roles.labeler import (
    SemanticRoleLabeler as SemanticRoleLabeler,
)
from lossnet.tasks.roles.metrics import (
    Argument as Argument,
)
from lossnet.tasks.roles.metrics import (
    Interval as Interval,
)
from lossnet.tasks.roles.metrics import (
    RoleScores as RoleScores,
)
from lossnet.tasks.roles.metrics import (
    arguments as arguments,
)
from lossnet.tasks.roles.metrics import (
    bootstrap as bootstrap,
)
from lossnet.tasks.roles.metrics import (
    repeated_roles as repeated_roles,
)
from lossnet.tasks.roles.metrics import (
    role_scores as role_scores,
)
from lossnet.tasks.roles.predicates import (
    RoleData as RoleData,
)
from lossnet.tasks.roles.propbank import (
    read_gold_conll as read_gold_conll,
)
from lossnet.tasks.roles.propbank import (
    write_gold_conll as write_gold_conll,
)
from lossnet.tasks.roles.role_files import (
    load_role_splits as load_role_splits,
)
from lossnet.tasks.roles.role_files import (
    load_roles as load_roles,
)
from lossnet.tasks.roles.role_lines import (
    read_role_lines as read_role_lines,
)
from lossnet.tasks.roles.role_lines import (
    write_role_lines as write_role_lines,
)
from lossnet.tasks.roles.role_pictures import (
    draw_roles as draw_roles,
)
