from lossnet.tasks.image.folders import (
    load_image_splits as load_image_splits,
)
from lossnet.tasks.image.folders import (
    load_images as load_images,
)
from lossnet.tasks.image.images import (
    ImageData as ImageData,
)
from lossnet.tasks.image.metrics import (
    IMAGE_METRICS as IMAGE_METRICS,
)
from lossnet.tasks.image.metrics import (
    class_ious as class_ious,
)
from lossnet.tasks.image.metrics import (
    evaluate_masks as evaluate_masks,
)
from lossnet.tasks.image.metrics import (
    global_iou as global_iou,
)
from lossnet.tasks.image.metrics import (
    image_ious as image_ious,
)
from lossnet.tasks.image.metrics import (
    mean_iou as mean_iou,
)
from lossnet.tasks.image.metrics import (
    pixel_accuracy as pixel_accuracy,
)
from lossnet.tasks.image.picture_files import (
    DamagedImageWarning as DamagedImageWarning,
)
from lossnet.tasks.image.picture_files import (
    MissingPillowError as MissingPillowError,
)
from lossnet.tasks.image.picture_files import (
    write_masks as write_masks,
)
from lossnet.tasks.image.pictures import (
    draw_refinement_frames as draw_refinement_frames,
)
from lossnet.tasks.image.pictures import (
    draw_segmentation as draw_segmentation,
)
from lossnet.tasks.image.segmenter import (
    ImageSegmenter as ImageSegmenter,
)
