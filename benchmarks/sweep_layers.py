"""The layers of the sweep: normalisations, convolutions, pooling, resampling, attention, losses."""

from sweep_entry import MEDIUM, entry, images, places, side, squares, uniform, volumes

# ---- Layers

entry("nn.functional.layer_norm", lambda torch, n: (torch.rand(side(n), side(n)), (side(n),), torch.rand(side(n)),
                                                    torch.rand(side(n))))  # fmt: skip


entry("nn.functional.batch_norm", lambda torch, n: (images(torch, n), None, None, torch.rand(16), torch.rand(16)),
      training=True)  # fmt: skip
entry("nn.functional.group_norm", lambda torch, n: (images(torch, n), 4, torch.rand(16), torch.rand(16)))
entry("nn.functional.rms_norm", lambda torch, n: (torch.rand(side(n), side(n)), (side(n),)))
entry("nn.functional.conv1d", lambda torch, n: (torch.rand(max(1, n // 4096), 16, max(8, min(256, n // 16))),
                                                torch.rand(16, 16, 3)))  # fmt: skip
entry("nn.functional.conv2d", lambda torch, n: (images(torch, n), torch.rand(16, 16, 3, 3)), padding=1)
entry("conv2d.depthwise", lambda torch, n: (images(torch, n), torch.rand(16, 1, 3, 3)), call="nn.functional.conv2d",
      padding=1, groups=16)  # fmt: skip
entry("nn.functional.conv_transpose2d", lambda torch, n: (images(torch, n), torch.rand(16, 16, 3, 3)))
entry("nn.functional.max_pool2d", lambda torch, n: (images(torch, n), 2))
entry("nn.functional.avg_pool2d", lambda torch, n: (images(torch, n), 2))
entry("nn.functional.adaptive_avg_pool2d", lambda torch, n: (images(torch, n), 2))
entry("nn.functional.interpolate", lambda torch, n: (images(torch, n),), scale_factor=2, mode="bilinear")
entry("nn.functional.grid_sample", lambda torch, n: (images(torch, n), torch.rand(images(torch, n).shape[0], 8, 8, 2)),
      align_corners=False)  # fmt: skip
entry("nn.functional.unfold", lambda torch, n: (images(torch, n), 3))
entry("nn.functional.scaled_dot_product_attention",
      lambda torch, n: tuple(torch.rand(max(1, n // 4096), 64 if n > 4096 else 2, 32) for _ in range(3)))  # fmt: skip
entry("layer_norm.short", lambda torch, n: (torch.rand(max(1, n // 32), 32), (32,), torch.rand(32), torch.rand(32)),
      call="nn.functional.layer_norm")  # fmt: skip
entry("layer_norm.plain", lambda torch, n: (torch.rand(side(n), side(n)), (side(n),)), call="nn.functional.layer_norm")
entry("nn.functional.instance_norm", lambda torch, n: (images(torch, n), None, None, torch.rand(16), torch.rand(16)))
entry("batch_norm.eval", lambda torch, n: (images(torch, n), torch.rand(16), torch.rand(16) + 0.5, torch.rand(16),
                                           torch.rand(16)), call="nn.functional.batch_norm")  # fmt: skip
entry("batch_norm.rows", lambda torch, n: (torch.rand(max(2, n // 64), 64), None, None, torch.rand(64), torch.rand(64)),
      call="nn.functional.batch_norm", training=True)  # fmt: skip
entry("nn.functional.local_response_norm", lambda torch, n: (images(torch, n), 3), sizes=MEDIUM)
entry("nn.functional.normalize", squares())
entry("nn.functional.softmin", squares(), dim=1)
entry("softmax.short", lambda torch, n: (torch.rand(max(1, n // 16), 16), 1), call="softmax")
entry("conv2d.pointwise", lambda torch, n: (images(torch, n), torch.rand(16, 16, 1, 1)), call="nn.functional.conv2d")
entry("conv2d.strided", lambda torch, n: (images(torch, n), torch.rand(16, 16, 3, 3)), call="nn.functional.conv2d",
      padding=1, stride=2)  # fmt: skip
entry("conv2d.dilated", lambda torch, n: (images(torch, n), torch.rand(16, 16, 3, 3)), call="nn.functional.conv2d",
      padding=2, dilation=2)  # fmt: skip
entry("nn.functional.conv3d", lambda torch, n: (volumes(torch, n), torch.rand(8, 4, 3, 3, 3)), padding=1, sizes=MEDIUM)
entry("nn.functional.conv_transpose1d", lambda torch, n: (torch.rand(max(1, n // 4096), 16, max(8, min(256, n // 16))),
                                                          torch.rand(16, 16, 3)), stride=2)  # fmt: skip
entry("nn.functional.max_pool1d", lambda torch, n: (torch.rand(max(1, n // 1024), 16, 64), 2))
entry("nn.functional.max_pool3d", lambda torch, n: (volumes(torch, n), 2))
entry("max_pool2d.overlapping", lambda torch, n: (images(torch, n), 3), call="nn.functional.max_pool2d", stride=2,
      padding=1)  # fmt: skip
entry("nn.functional.avg_pool1d", lambda torch, n: (torch.rand(max(1, n // 1024), 16, 64), 2))
entry("nn.functional.avg_pool3d", lambda torch, n: (volumes(torch, n), 2))
entry("nn.functional.adaptive_max_pool2d", lambda torch, n: (images(torch, n), 2))
entry("nn.functional.fractional_max_pool2d", lambda torch, n: (images(torch, n), 2), output_size=2)
entry("nn.functional.lp_pool2d", lambda torch, n: (images(torch, n), 2.0, 2))
entry("nn.functional.max_unpool2d", lambda torch, n: (
    *torch.nn.functional.max_pool2d(images(torch, n), 2, return_indices=True), 2))  # fmt: skip
for _mode in ["nearest", "bicubic", "area"]:
    entry(f"interpolate.{_mode}", lambda torch, n: (images(torch, n),), call="nn.functional.interpolate",
          scale_factor=2, mode=_mode, sizes=MEDIUM)  # fmt: skip
entry("interpolate.antialias", lambda torch, n: (images(torch, n),), call="nn.functional.interpolate",
      scale_factor=0.5, mode="bilinear", antialias=True)  # fmt: skip
entry("interpolate.linear", lambda torch, n: (torch.rand(max(1, n // 1024), 16, 64),), call="nn.functional.interpolate",
      scale_factor=2, mode="linear")  # fmt: skip
entry("interpolate.trilinear", lambda torch, n: (volumes(torch, n),), call="nn.functional.interpolate",
      scale_factor=2, mode="trilinear", sizes=MEDIUM)  # fmt: skip
entry("grid_sample.same", lambda torch, n: (images(torch, n), torch.rand(*images(torch, n)[:, 0].shape, 2) * 2 - 1),
      call="nn.functional.grid_sample", align_corners=False, sizes=MEDIUM)  # fmt: skip
entry("nn.functional.affine_grid", lambda torch, n: (
    torch.rand(max(1, n // 1024), 2, 3), (max(1, n // 1024), 1, 16, 32)), align_corners=False)  # fmt: skip
entry("nn.functional.fold", lambda torch, n: (torch.rand(max(1, n // 9216), 36, 256), (16, 16), 3), padding=1)
for _mode in ["reflect", "replicate", "circular"]:
    entry(f"pad.{_mode}", lambda torch, n: (images(torch, n), (1, 1, 1, 1)), call="nn.functional.pad", mode=_mode)
entry("pad.images", lambda torch, n: (images(torch, n), (1, 1, 1, 1)), call="nn.functional.pad")
entry("nn.functional.pixel_shuffle", lambda torch, n: (images(torch, n), 2))
entry("nn.functional.pixel_unshuffle", lambda torch, n: (images(torch, n), 2))
entry("nn.functional.channel_shuffle", lambda torch, n: (images(torch, n), 4))
entry("attention.causal",
      lambda torch, n: tuple(torch.rand(max(1, n // 16384), 4, 128 if n > 4096 else 2, 32) for _ in range(3)),
      call="nn.functional.scaled_dot_product_attention", is_causal=True)  # fmt: skip

# ---- Losses and dropout

for _name in ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"]:
    entry(f"nn.functional.{_name}", uniform(0.2, 0.8, 2))
entry("nn.functional.binary_cross_entropy", uniform(0.2, 0.8, 2))
entry("nn.functional.binary_cross_entropy_with_logits", uniform(0.2, 0.8, 2))
entry("nn.functional.kl_div", squares(2, 0.2, 0.8), reduction="sum")
entry("nn.functional.cross_entropy", lambda torch, n: (torch.rand(side(n), side(n)), places(torch, side(n), side(n))))
entry("nn.functional.cosine_similarity", squares(2))
entry("nn.functional.dropout", uniform(0, 1))
entry("nn.functional.soft_margin_loss", uniform(0.2, 0.8, 2))
entry("nn.functional.hinge_embedding_loss", lambda torch, n: (torch.rand(n), (torch.rand(n) > 0.5) * 2.0 - 1))
entry("nn.functional.margin_ranking_loss", uniform(0.2, 0.8, 3))
entry("nn.functional.poisson_nll_loss", uniform(0.2, 0.8, 2))
entry("nn.functional.gaussian_nll_loss", uniform(0.2, 0.8, 3))
entry("nn.functional.triplet_margin_loss", squares(3))
entry("nn.functional.cosine_embedding_loss", lambda torch, n: (*squares(2)(torch, n), torch.ones(side(n))))
entry("nn.functional.multi_margin_loss", lambda torch, n: (torch.rand(max(1, n // 16), 16),
                                                           places(torch, max(1, n // 16), 16)))  # fmt: skip
entry("nn.functional.multilabel_margin_loss", lambda torch, n: (torch.rand(max(1, n // 16), 16),
                                                                torch.randint(0, 16, (max(1, n // 16), 16))),
      sizes=MEDIUM)  # fmt: skip
entry("nn.functional.multilabel_soft_margin_loss", squares(2, 0.2, 0.8))
entry("nn.functional.nll_loss", lambda torch, n: (torch.rand(side(n), side(n)), places(torch, side(n), side(n))))
entry("nll_loss.images", lambda torch, n: (images(torch, n), torch.randint(0, 16, images(torch, n)[:, 0].shape)),
      call="nn.functional.nll_loss")  # fmt: skip
entry("cross_entropy.images", lambda torch, n: (images(torch, n), torch.randint(0, 16, images(torch, n)[:, 0].shape)),
      call="nn.functional.cross_entropy")  # fmt: skip
entry("cross_entropy.smoothed", lambda torch, n: (torch.rand(side(n), side(n)), places(torch, side(n), side(n))),
      call="nn.functional.cross_entropy", label_smoothing=0.1)  # fmt: skip
entry("nn.functional.ctc_loss", lambda torch, n: (
    torch.rand(32, max(1, n // 1024), 32).log_softmax(2), torch.randint(1, 32, (max(1, n // 1024), 8)),
    torch.full((max(1, n // 1024),), 32), torch.full((max(1, n // 1024),), 8)), sizes=MEDIUM)  # fmt: skip
entry("nn.functional.dropout2d", lambda torch, n: (images(torch, n),))
entry("nn.functional.alpha_dropout", uniform(0, 1), training=True)
entry("nn.functional.gumbel_softmax", squares(), sizes=MEDIUM)
